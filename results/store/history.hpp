// One metric over the runs of a folder, from the index: which values may stand in one column, in
// the order of time, and where their level changed. Pure but for reading the index.
//
// A group holds values that may be compared: of runs whose folders' names differ in digits only
// (run_tree.hpp, sequence_of), of one record, device, clock, unit and set of seeds, with equal
// comparability (items, prompts, tokenizer, versions), host times also of one machine. Settings and
// code may change from night to night: that is what a history is looked at for, and is marked.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "results/stats/change_points.hpp"
#include "results/store/index.hpp"

namespace nb {

inline constexpr const char* kHistorySchema = "npubench.history/1";

// Empty: any.
struct HistoryFilter {
  std::string name;    // IndexedRecord::name: "base.core"
  std::string device;  // that it ran on
  std::string clock;   // "sim"
  std::optional<std::int64_t> seed;
};

// One run's value.
struct HistoryRow {
  std::string run, when;        // when: UTC; empty: not said
  std::optional<double> value;  // the mean where there are several seeds
  std::string reason_if_null;
  std::optional<double> low, high;   // as recorded; of one seed only
  std::int64_t n = 0;                // as recorded, of one seed
  std::vector<double> by_seed;       // in the order of HistoryGroup::seeds; empty where value is
  std::vector<std::string> changed;  // against the row before: "settings", "code"
  std::optional<ChangePoint> level;  // a new level begins here; index: of the row
};

struct HistoryGroup {
  std::string sequence, kind, name, device, trained_on;
  std::string unit, clock;
  Direction direction = Direction::kNone;
  std::vector<std::optional<std::int64_t>> seeds;
  std::string machine;           // clock host: where it was measured
  std::string comparability;     // digest
  std::vector<HistoryRow> rows;  // by time
};

// Of a change of its values: 1 better, -1 worse, 0 neither.
int judgement_of(const HistoryGroup& group, double change);

struct History {
  std::string metric;
  std::vector<HistoryGroup> groups;  // what may not be compared stands apart
  std::vector<std::string> notes;    // one sentence each: what was left out
};

// What the histories of several metrics share, read from the index once. The index outlives it.
class HistorySource {
 public:
  explicit HistorySource(const RunIndex& index);
  HistorySource(const HistorySource&) = delete;
  HistorySource& operator=(const HistorySource&) = delete;
  // A metric, name, device, seed or clock that no run has: bad_input with those that there are.
  Result<History> history_of(const std::string& metric, const HistoryFilter& filter = {}) const;

 private:
  const RunIndex& index_;
  std::vector<IndexedRecord> records_;
  std::map<std::int64_t, const IndexedRecord*> by_id_;
  std::map<std::string, std::string> sequence_of_run_, when_of_run_;
};
Result<History> history_of(const RunIndex& index, const std::string& metric,
                           const HistoryFilter& filter = {});

// Values that a change of level needs on both sides together.
inline constexpr std::size_t kLeastValues = 2 * ChangePointOptions().min_segment;

// "eval base.core on h100_sxm, seeds 1, 2, 3 (nightly)"
std::string title_of(const HistoryGroup& group);
// "the level changed at 2026-11-12/nightly: 0.9500 → 0.9100 (−0.0400, worse), p 0.0002; code
// changed in that run": one for each row with a level.
std::vector<std::string> level_sentences(const HistoryGroup& group);

// most: the newest rows of each group that are shown; 0: all. What is left out is said.
std::string history_text(const History& history, std::size_t most = 0);
std::string history_csv(const History& history);
Json history_json(const History& history);

}  // namespace nb
