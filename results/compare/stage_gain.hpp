// Did a later stage of training help? Every task that both stages of one run evaluated, paired by
// seed: the later stage began from the earlier one's checkpoint of the same seed, and both answered
// the same items. Reads records and items files; the numbers are means over seeds. Of a report card
// or another harness's results two stages of one model are judged as `compare` judges two imported
// evaluations (imported_rows.hpp): paired items where there are any, else unpaired totals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/compare/compare.hpp"
#include "results/stats/stats.hpp"
#include "results/store/store.hpp"

namespace nb {

// Of an accuracy, a composite or a text's bits per byte.
struct StageGain {
  std::string evaluation;  // "chat" of mid.chat and sft.chat
  std::string metric;      // "mw/gsm8k/accuracy", "chatcore"
  Direction direction = Direction::kHigher;
  std::string unit;
  std::int64_t n = 0;  // items behind one value
  std::vector<std::int64_t> seeds;
  std::vector<double> a, b;  // a value per seed: the mean over devices that trained or evaluated
  double difference = 0;     // mean(b) − mean(a)
  // Over seeds, which need two; of one seed the paired items of one checkpoint a side (mid-p
  // McNemar, Newcombe 10): it says nothing of another training. Nothing: neither can be said.
  std::optional<Interval> interval95;
  std::optional<double> p, p_holm;  // two-sided; Holm over the metrics of its family
  // A subject, mw/mmlu/colours, of a task that is there too. Tasks are one family, parts another:
  // what is counted twice must not cost the tasks their power.
  // Of an imported one also a task's other metrics.
  bool is_part = false;
  std::optional<double> min_detectable;  // detectable difference, 80 % power; over seeds alone
  Shown shown = Shown::kNotShown;        // by p_holm < .05
};

struct StageGains {
  std::string stage_a, stage_b;
  bool imported = false;             // nothing of it was evaluated here
  std::vector<std::string> devices;  // that evaluated
  std::size_t seeds = 0;             // of both stages
  std::vector<StageGain> gains;      // by evaluation and metric
  std::vector<std::string> notes;    // one sentence each: what was left out
  std::vector<std::string> damaged;  // records and items that cannot be read, failed nodes
};

// metrics: those alone, as shown ("mw/gsm8k") or as recorded; empty: all. Who states before the run
// what it is about is not corrected for all else that was measured. bad_input: a stage that no
// evaluation of the run is of, with those that there are; two stages without an evaluation of the
// same name; the same stage twice; a metric that the two do not share.
Result<StageGains> stage_gains(const RunRecords& run, const std::string& stage_a,
                               const std::string& stage_b,
                               const std::vector<std::string>& metrics = {});

// "sft is better than mid in 4 of 6 metrics …"
std::string stage_headline(const StageGains& gains);
std::string stage_gains_text(const StageGains& gains);  // terminal, 80 columns
Json stage_gains_json(const StageGains& gains);

}  // namespace nb
