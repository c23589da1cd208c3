// Pairs the records of two runs, or of two devices in one run, and says by how much each metric
// differs and what else differs (confounders). Reads items for paired differences. Decides nothing:
// that is gate.hpp.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "results/record.hpp"
#include "results/stats.hpp"
#include "results/store.hpp"

namespace nb {

// One field that differs besides what is compared: settings, code digest, device, policy.
struct Confounder {
  std::string field;               // "/settings/train/lr"
  std::string a, b;                // values as short JSON; "(absent)" where there is none
  std::vector<std::string> where;  // describe() of the pairs that it touches
};

struct MetricDifference {
  std::string name, unit;
  Direction direction = Direction::kNone;
  Clock clock = Clock::kNone;
  std::optional<double> a, b;
  std::optional<double> difference;    // b − a
  std::optional<double> relative;      // (b − a)/|a|, a ≠ 0
  std::optional<Interval> interval95;  // of the difference, where pairing or seeds give one
  std::string method;                  // "paired items", "seeds (Welch)"; empty: none
  std::optional<PairedCounts> counts;  // paired items
  std::optional<double> p_two_sided;
  std::string note;  // why there is no difference: other clock, null with reason
};

struct RecordPair {
  const StoredRecord* a =
      nullptr;  // into the RunRecords that were compared: they outlive the comparison
  const StoredRecord* b = nullptr;
  bool bit_identical = false;  // same_results
  std::string incomparable;    // first comparability field that differs, as a sentence; empty: none
  bool fixed_weights = false;  // evaluations of the same weights digest
  std::vector<MetricDifference> metrics;
};

struct Comparison {
  std::string label_a, label_b;
  std::string device_a, device_b;  // set by compare_devices
  std::vector<Confounder> confounders;
  std::vector<RecordPair> pairs;
  std::vector<std::string> unpaired;  // one sentence each, refusals (mw/ with real) included
  std::vector<std::string> damaged;   // records or items that could not be read
};

// Same kind, name, trained_on, device and seed.
Comparison compare_runs(const RunRecords& a, const RunRecords& b);
// Same kind, name and seed on two devices of one run (GPU against NPU). Evaluations pair where both
// sides evaluated the same weights, and where each side evaluated its own.
Result<Comparison> compare_devices(const RunRecords& run, const std::string& device_a,
                                   const std::string& device_b);
// Paired answers by item id; an error where ids differ.
Result<PairedCounts> pair_items(const StoredRecord& a, const StoredRecord& b,
                                const std::string& task);

// Fields of two JSON values that differ, as /json/pointers below `prefix`.
std::vector<Confounder> json_differences(const Json& a, const Json& b, const std::string& prefix);

std::string comparison_text(const Comparison& comparison);  // terminal
Json comparison_json(const Comparison& comparison);

}  // namespace nb
