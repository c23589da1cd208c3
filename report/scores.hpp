// The score table: models against tasks, a cell with raw accuracy, centred score, interval and
// verdict. Reads records, comparisons and the gate's result; decides nothing itself.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace nb {

struct ScoreCell {
  std::optional<double> raw;         // mean over seeds
  std::optional<double> centred;     // (a − r)/(1 − r), mean over seeds
  std::optional<double> chance;      // r
  std::optional<Interval> interval;  // 95 %, of raw: over seeds from two on, else over items
  std::string unit;                  // "1", "bit/byte"
  std::int64_t items = 0;
  std::size_t seeds = 0;
  // With a gate its worst verdict of this task and model; else what the device comparison shows.
  std::optional<Verdict> verdict;
  std::optional<Shown> shown;  // against ScoreModel::against
};

struct ScoreModel {
  std::string name;       // "base.core"
  std::string device;     // that trained and evaluated it; empty: a foreign result without one
  std::string side;       // "A", "B" where foreign results of two places stand in one table
  std::size_t stage = 4;  // stage_rank
  std::string against;    // device that `shown` compares with; empty: this is that device
};

// Models that were evaluated on tasks in common: BASE on CORE, MID to RL on the chat tasks.
struct ScoreTable {
  std::vector<ScoreModel> models;
  std::vector<std::string> tasks;             // composites last
  std::vector<std::vector<ScoreCell>> cells;  // [model][task]
};

// Evaluations of a device's own weights; those of another device's are for the attribution. Parts
// of a task ("mw/mmlu/jobs" of "mw/mmlu") are left out.
std::vector<ScoreTable> score_tables(const ReportInput& input);

// One metric of one node on two sides: over seeds where there are several, else of the one pair.
struct DifferenceRow {
  std::string node;  // describe() without seed, and without what differs
  std::string name;  // of the records: "base.core"
  std::string metric, unit;
  std::string kind;  // of the records: "eval", "train"
  std::string trained_on_a, trained_on_b, device_a, device_b;
  Direction direction = Direction::kNone;
  Clock clock = Clock::kNone;
  double a = 0, b = 0, difference = 0;
  std::optional<Interval> interval95;
  Shown shown = Shown::kNothing;
  std::optional<double> min_detectable;  // detectable difference, 80 % power
  SeedMethod seed_method = SeedMethod::kNone;
  Sentence method;        // of a single pair
  std::size_t seeds = 0;  // 0: one pair without seed
  bool fixed_weights = false;
  bool is_score = false;  // of A's record
  std::size_t stage = 0;  // stage_rank
  Sentence note;          // of a single pair
};
std::vector<DifferenceRow> difference_rows(const Comparison& comparison);
// Of those the scores of each device's own models, in the order of training.
std::vector<DifferenceRow> own_scores(const Comparison& comparison);
// A task's headline number: its accuracy, bits per byte or composite; of foreign results what their
// source calls so. Parts of a task ("mw/mmlu/jobs" of "mw/mmlu") are none.
bool is_score(const Record& record, const std::string& metric);
// BASE, MID, SFT, RL as they are trained: 0 to 3; others 4.
std::size_t stage_rank(const Record& record);
// A composite's name is its task's; of the others the last part is the metric.
std::string task_of_score(const std::string& metric);

}  // namespace nb
