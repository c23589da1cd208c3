// Did it get worse? Comparability by hashes, then bit identity, then statistics: one verdict per
// task, one exit code per night. Judges a Comparison (compare.hpp), which has paired the records.
// Never shows green when something could not be measured. How it decides: README.md.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "results/compare/compare.hpp"
#include "results/gate/gate_policy.hpp"
#include "results/messages/message.hpp"
#include "results/stats/stats.hpp"
#include "results/store/store.hpp"

namespace nb {

enum class Verdict {
  kPass,
  kImproved,
  kInconclusive,
  kSuspicious,
  kRegressed,
  kIncomparable,
  kError
};
std::string_view name(Verdict verdict);  // "PASS", "IMPROVED", …

struct GateOptions {
  bool strict = false;  // INCONCLUSIVE exits 2
};

struct TaskVerdict {
  std::string metric;  // "mw/facts/accuracy", several where they are one test; empty: the record
  std::string where;   // "eval base.core on ascend_910b3, seed 1"
  std::string task() const { return metric.empty() ? where : metric + " of " + where; }
  Verdict verdict = Verdict::kPass;
  std::string test;  // "identical", "items", "scoring", "seeds", "curve", "exact", "record"
  Sentence reason;   // one sentence; for INCONCLUSIVE with what it would take
  std::optional<double> a, b, difference;
  std::optional<Interval> interval95;
  std::optional<double> low90;  // lower end of the 90 % interval, higher-is-better orientation
  std::optional<double> p_worse, p_worse_holm, p_better_holm;
  std::optional<double> margin,
      min_detectable;  // min_detectable: smallest difference found with 80 % power
  std::optional<PairedCounts> counts;
  bool uncalibrated = false;
};

struct GateResult {
  std::vector<TaskVerdict> verdicts;  // what is not PASS first, worst first
  Verdict night = Verdict::kPass;
  int exit_code = 0;  // of 1, 4, 3, 2 the first that occurs; else 0
  bool uncalibrated = false;
  std::vector<Sentence> findings;  // of the comparison: what comes before any number
  Sentence likely_cause;           // changed settings, data or code; empty: none known
  bool asked_for_another = false;  // settings or data differ, so better may be what was wanted
  std::vector<Sentence> alerts;    // below the first line: "could not tell for the 3rd night",
                                   // a noise profile of other settings
  std::vector<Sentence> notes;     // new records, "worse, within margin", skipped records
};

inline constexpr const char* kGateSchema = "npubench.gate/1";

// A = baseline, B = candidate, paired with PairAcross::kNothing.
GateResult gate(const Comparison& comparison, const GatePolicy& policy = {},
                const GateOptions& options = {});
GateResult gate(const RunRecords& base, const RunRecords& candidate, const GatePolicy& policy = {},
                const GateOptions& options = {});
// Sorts the verdicts, and takes the night's verdict and exit code from the worst.
void settle_night(GateResult& result, const GateOptions& options);
// What `other` found besides, with `against` before every place ("against the golden run"); the
// night is settled anew.
void add_verdicts(GateResult& night, GateResult other, const Sentence& against,
                  const GateOptions& options);
Sentence first_line_of(const GateResult& result);  // whole
std::string gate_headline(const GateResult& result, Language language = Language::kEn);
std::string gate_text(const GateResult& result);  // terminal, 80 columns
Json gate_json(const GateResult& result);

}  // namespace nb
