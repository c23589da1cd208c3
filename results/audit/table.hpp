// A table of reported results as a value: what somebody printed, digit by digit, with where each
// number stands. Read by read_table.hpp, judged by audit.hpp, compared like any foreign result
// (to_foreign.hpp). Not for runs of our own, whose records carry items and hashes
// (results/store/record.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "results/messages/message.hpp"
#include "results/stats/stats.hpp"
#include "results/store/curve.hpp"
#include "results/store/record.hpp"

namespace nb {

// A number as it was printed. "28.75 %" has value .2875 and 4 decimals, "3.49e+09" has -7.
struct Printed {
  std::string text;
  double value = 0;
  int decimals = 0;       // digits of `value` after the point
  double half_unit = .5;  // half of the last digit's place: what rounding can hide
  std::string unit;       // what follows the digits: "MiB", "m"; a percent sign is in the value
  bool is_rough = false;  // "~5 h", "85 %+"
};
// Thousands separators, signs, percent signs, exponents and a unit are understood. Refused: NaN,
// infinities, words, "1,23" (a comma that separates no thousands). The message begins with `where`.
Result<Printed> parse_printed(std::string_view text, const std::string& where);
bool is_blank_cell(std::string_view text);  // "", "-", "—", "n/a", "None": not measured

enum class Scale {
  kAccuracy,   // share of right answers
  kCentred,    // (accuracy - guessing) / (1 - guessing)
  kComposite,  // mean of centred accuracies: CORE, ChatCORE
  kOther,      // shown, never judged: bits per byte, perplexity, rewards
};

struct ReportedCell {
  std::string task;   // known_tasks.hpp's id where it is one of them, else the label
  std::string label;  // as printed
  // The metric's own name where the table says it: "exact_match", or the whole label ("eval_loss"),
  // which then names no task. Empty: an accuracy, or what `scale` says.
  std::string metric;
  std::string filter, shots, version;  // lm-eval's columns; empty: not said
  std::optional<Direction> direction;  // as an arrow beside the metric says
  std::optional<bool> is_percent;      // as its column's head says
  Printed score;
  Scale scale = Scale::kAccuracy;
  std::optional<std::int64_t> n;    // items; empty: not said
  bool is_n_assumed = false;        // the full test set, because nothing says otherwise
  bool counts_items = true;         // right answers / n; false: perhaps a mean of shares
  bool is_called_accuracy = false;  // its column says so, whatever its row is called
  std::optional<double> standard_error;
  std::optional<Interval> interval;  // as printed beside the score, 95 %
  std::optional<Printed> repeated;   // the same number in the report's summary
  std::size_t line = 0;              // in the file, from 1; 0: the format has none
};

// Numbers about a training, by the names of fact_names.hpp.
using Facts = std::map<std::string, Printed>;
// Settings in words, e.g. {"optimizer", "AdamW .9/.999"}: what a confounder is made of.
using Settings = std::map<std::string, std::string>;

// A line that stands again where it can stand once. The first is the one that counts, as for
// nanochat's own summary (report.py, extract).
struct Repetition {
  std::string label;  // as printed
  Printed first, again;
  std::size_t first_line = 0, line = 0;
  bool is_same_section = true;  // false: the section itself stands again
};

// One column of a table of scores, or one row of a table of throughputs.
struct ReportedStage {
  std::string name;       // "MID", "Base, 8 cards"
  std::string group;      // what scales with cards: "Base"; empty: name
  std::string timestamp;  // "2025-11-11 12:19:38"; empty: none
  std::vector<ReportedCell> cells;
  Facts facts;
  Settings settings;
  std::vector<Repetition> repetitions;
  Curve curve;                                            // of a training log; empty: none
  const ReportedCell* find(std::string_view task) const;  // nullptr: not reported
  const Printed* fact(std::string_view name) const;       // nullptr: not reported
};

struct ReportedRun {
  std::string name;           // "GPU", or the file's name where it holds one run
  std::string device;         // "NVIDIA H100 80GB"; empty: not said
  std::string source;         // who published it, where
  std::string manifest_hash;  // of the record that shows the run; empty: the numbers are claims
  std::string started;        // "2025-11-11 09:15:47"; empty: not said
  std::string published;      // when the numbers appeared
  std::string first_success;  // of the first step that ran on this device, where known
  Facts facts;                // of the whole run
  Settings settings;
  std::vector<ReportedStage> stages;
  const ReportedStage* stage(std::string_view name) const;
  // Of the stage, else of the run; nullptr: neither says.
  const Printed* fact(const ReportedStage& stage, std::string_view name) const;
};

enum class ClaimKind {
  kRetention,  // scores of `run` are low…high of those of `against`
  kImproves,   // `task` rises from stage `from` to stage `to` of `run`
  kStatement,  // `source` says `text` about `topic`
};
struct Claim {
  ClaimKind kind = ClaimKind::kStatement;
  std::string text;  // as published
  std::string run, against;
  double low = 0, high = 0;
  std::string task, from, to;
  std::string topic, source;
};

struct ReportedTable {
  std::string name;   // "published:seed_result_table", or the file's path
  std::string about;  // one sentence; may be empty
  std::vector<std::string> sources;
  std::vector<ReportedRun> runs;
  std::vector<Claim> claims;
  std::vector<Sentence> ignored;  // what a reader saw and did not take: "12 lines of settings"
  std::string trainer;            // that wrote the log which this is: "Megatron-LM"; empty: no log
  const ReportedRun* run(std::string_view name) const;
};

// "SFT mmlu"; the label alone where the stage has no name.
std::string cell_name(const ReportedStage& stage, std::string_view label);

template <class Check>
void each_stage(const ReportedTable& table, Check check) {
  for (const ReportedRun& run : table.runs)
    for (const ReportedStage& stage : run.stages) check(run, stage);
}

// Numbers of a training that stand on a run, of which no stage says any, are a stage of their own
// (without a name), so that what judges stages sees them.
ReportedTable with_stages(const ReportedTable& table);

}  // namespace nb
