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
  std::string category;  // "settings", "code", "numerics" (explains different bits), "device"
  std::string field;     // "/settings/train/lr"
  std::string a, b;      // values as short JSON; "(absent)" where there is none
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

// One metric over all seeds of a group of pairs, where each side has at least 2.
struct SeedDifference {
  std::string
      group;  // describe() of the first record, without its seed (and device, where they differ)
  std::string metric, unit;
  Direction direction = Direction::kNone;
  std::vector<double> a, b;  // by rising seed
  WelchTest test;            // df 0: no spread on either side, no interval
};

struct Comparison {
  std::string label_a, label_b;
  std::string device_a, device_b;  // set by compare_devices
  std::vector<Confounder> confounders;
  std::vector<RecordPair> pairs;
  std::vector<SeedDifference> seeds;
  std::vector<std::string> unpaired;  // one sentence each, refusals (mw/ with real) included
  std::vector<std::string> damaged;   // records or items that could not be read
  // Settings and code are equal: what differs comes from the device. Only then may a title say
  // "hardware".
  bool only_device_differs() const;
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

// First comparability key that differs, as a sentence; empty: comparable. Keys "<task>/…" of a task
// that the records know concern that task alone; all other keys concern every task and, with an
// empty task, the record.
std::string incomparable_because(const Record& a, const Record& b, const std::string& task = "");
// The task of a metric: "mw/facts" of "mw/facts/accuracy", "core" of "core".
std::string task_of_metric(const std::string& metric);

std::string comparison_text(const Comparison& comparison);  // terminal
Json comparison_json(const Comparison& comparison);

}  // namespace nb
