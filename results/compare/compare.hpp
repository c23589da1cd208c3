// Pairs the records of two runs, or of two devices in one run, and says by how much each metric
// differs, what that difference can show, and what else differs (confounders). Reads items and
// curves. Decides nothing: that is gate.hpp, which judges a Comparison.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/compare/curve_comparison.hpp"
#include "results/compare/item_comparison.hpp"
#include "results/compare/loss_curve.hpp"
#include "results/compare/pairing.hpp"
#include "results/compare/score.hpp"
#include "results/messages/message.hpp"
#include "results/stats/stats.hpp"
#include "results/store/record.hpp"
#include "results/store/store.hpp"

namespace nb {

// One field that differs besides what is compared: settings, code digest, device, policy.
struct Confounder {
  std::string category;  // "settings", "data", "code", "numerics" (explains different bits),
                         // "device", "server"; of imported results "model" too
  std::string field;     // "/settings/train/lr"
  std::string a, b;      // values as short JSON; "(absent)" where there is none
  std::vector<std::string> where;  // describe() of the pairs that it touches
  // What differs, where a and b are digests: "news.txt has other content", "model/optim".
  Sentence named = {};
};

// A probe of harness/remote saw it, or the servers say so.
inline bool is_of_servers(const Confounder& confounder) {
  return confounder.field.starts_with("/server");
}

// What a difference shows. A direction needs an exact count or an interval without zero.
enum class Shown {
  kNothing,  // no difference to speak of, or neither way is better
  kEqual,    // the same value to the last bit
  kBetter,   // B is better
  kWorse,    // B is worse
  kNotShown  // there is a difference, and nothing shows that it is more than chance
};
std::string_view name(Shown shown);  // "", "equal", "B better", "B worse", "not established"

// Where a metric is.
enum class FoundIn { kBoth, kA, kB };

struct MetricDifference {
  std::string name, unit;
  Direction direction = Direction::kNone;
  Clock clock = Clock::kNone;
  std::int64_t n = 0;  // items, steps or repetitions behind A's value
  std::optional<double> a, b;
  std::optional<double> difference;    // b − a
  std::optional<double> relative;      // (b − a)/|a|, a ≠ 0
  std::optional<Interval> interval95;  // of the difference, where pairing gives one
  Sentence method;                     // "paired items", "unpaired totals"; empty: none
  bool of_tasks = false;               // a composite's, from the paired items of its tasks
  bool primary = true;                 // of imported records: its task's headline number
  // Of imported records (imported_rows.hpp). part_of: the row of the group that holds this one.
  std::string part_of;
  bool is_share = false;            // a mean of scores between 0 and 1
  std::optional<double> tolerance;  // A expects: further on the worse side than this is a failure
  Sentence contradiction;           // why its items or parts may not be judged; empty: nothing
  std::optional<double> standard_error;  // of the difference, where it has no paired counts
  std::optional<Interval> interval90;
  std::optional<double> p_corrected;  // two-sided, Holm over its family
  Sentence gross;  // beyond that bound, which no noise explains: "10 % and .05 nat"
  std::optional<PairedCounts> counts;  // paired items
  std::optional<double> p_two_sided;
  // Benjamini and Hochberg over all paired items of the comparison: for looking around.
  std::optional<double> q;
  Shown shown = Shown::kNothing;
  std::optional<double>
      min_detectable;         // smallest difference that this comparison could see (80 % power)
  bool incomparable = false;  // in the sense of incomparable_because; the note says why
  // What is equal although the value is not, so the metric itself changed: "equal answers"; empty:
  // nothing of the kind.
  Sentence other_metric;
  FoundIn side = FoundIn::kBoth;
  Sentence note;  // why there is no difference or no direction
  bool is_only_in(FoundIn one) const { return side == one && !incomparable; }
};

struct RecordPair {
  const StoredRecord* a =
      nullptr;  // into the RunRecords that were compared: they outlive the comparison
  const StoredRecord* b = nullptr;
  Sentence note;               // how they were paired, where not by identity
  bool bit_identical = false;  // same_results
  bool same_key = false;       // equal node keys: the bits must be equal too
  Sentence incomparable;       // first comparability field that differs, as a sentence; empty: none
  bool wrote_otherwise = false;  // RL of another number of tokens (rl_work.hpp): its simulated
                                 // costs have no direction
  bool fixed_weights = false;  // the same weights digest: an evaluation of them, or their training
  bool imported = false;  // of another harness on a side: two finished models, as they are named
  bool same_device = false;
  std::vector<MetricDifference> metrics;
  std::vector<ItemComparison> items;  // of evaluations, one per task
  // Training on one device with equal seeds in the settings: the first step that rounding does not
  // explain.
  std::optional<CurveDeparture> departure;
  bool curves_agree = false;  // compared, and no departure
  bool other_start = false;   // not known to have begun with the same weights: of the curves only
                              // what no rounding changes was compared
  std::string curve_error;    // a steps.csv that the record lists and that could not be read
  std::optional<CurveComparison> curves;  // of imported trainings that both have one
  // Metrics that changed although what they were computed from is equal, so the metric itself is
  // another one: "mw/facts/accuracy 0.9500 → 0.9400".
  std::vector<std::string> changed_metrics;
};

// How seeds are compared.
enum class SeedMethod { kNone, kPaired, kWelch, kOneAgainstMany };
std::string_view name(SeedMethod method);  // "", "paired seeds", "seeds (Welch)", …

// One metric over all seeds of a node.
struct SeedDifference {
  std::string group;  // describe() of the first record, without its seed (and device, where they
                      // differ)
  std::vector<std::string> metrics;  // the metric, and those that equal it on both sides in every
                                     // seed: one difference, one test
  std::string unit;
  Direction direction = Direction::kNone;
  std::int64_t n = 0;               // items behind one value
  bool paired = true;               // equal seeds stand at equal places; else independent sides
  std::vector<std::int64_t> seeds;  // of A; empty for a node without seed
  std::vector<double> a, b;
  std::optional<MeanTest> test;  // two pairs, or two values on one side at least
  SeedMethod method = SeedMethod::kNone;
  Shown shown = Shown::kNothing;
  const StoredRecord* first_a = nullptr;  // the first record of each side
  const StoredRecord* first_b = nullptr;
  bool all_fixed = true;                         // every pair has fixed weights
  std::optional<double> min_detectable() const;  // detectable difference, 80 % power
};

struct Comparison {
  std::string label_a, label_b;
  std::string device_a, device_b;  // set by compare_devices
  std::vector<Confounder> confounders;
  std::vector<RecordPair> pairs;
  std::vector<SeedDifference> seeds;
  std::vector<Score> scores;  // what is said first: judged together
  std::vector<Cost> costs;
  std::vector<UnmatchedSeeds> unmatched;  // they are in `seeds` too, unless incomparable
  std::vector<const StoredRecord*> only_a, only_b;
  std::vector<std::shared_ptr<const StoredRecord>> renamed;  // Pairing's
  std::vector<Sentence> findings;  // what must be known before any number is read, one sentence
                                   // each: the same weights scored differently, another procedure
  std::vector<Sentence> cautions;  // what a reader of imported scores must know, one sentence
                                   // each: prompts or reference answers of paired items differ
  std::vector<std::string> stated_equal;  // of imported pairs: settings that both sides state alike
  std::vector<Sentence> unknown;   // what could not be compared: "training settings unknown: …"
  std::vector<Sentence> unpaired;  // one sentence each, refusals (mw/ with real) included
  std::vector<Sentence> skipped;   // records that another one of the same node supersedes
  std::vector<std::string> damaged_a, damaged_b;  // records that could not be read
  std::vector<std::string> damaged;               // all of these, items files and failed nodes
  // Settings, data and code are equal and known: what differs comes from the device. Only then may
  // a title say "hardware".
  bool only_device_differs() const;
  // Why nothing that was paired could be compared; empty where anything could.
  Sentence why_incomparable() const;
  // "changed settings: /settings/train/lr 0.02 → 0.01; changed code: model/optim"; empty: none
  // known.
  Sentence likely_cause() const;
};

// Why two paired records have nothing to compare: no score stands on both sides, with their names.
// Empty: some do.
Sentence nothing_in_common(const RecordPair& pair);

// Pairing as in pairing.hpp. The gate allows kNothing only.
Comparison compare_runs(const RunRecords& a, const RunRecords& b,
                        PairAcross across = PairAcross::kNothing);
Result<Comparison> compare_devices(const RunRecords& run, const std::string& device_a,
                                   const std::string& device_b);

inline constexpr const char* kCompareSchema = "npubench.compare/3";

std::string comparison_text(const Comparison& comparison);  // terminal, 80 columns
Json comparison_json(const Comparison& comparison);

}  // namespace nb
