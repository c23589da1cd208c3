// What a reader asks of a comparison first: how each score changed, what that shows, and what the
// change cost. Values, made once by scores.cpp; the first sentence (headline.cpp), the table below
// it (score_table.cpp) and reports print them.
#pragma once

#include <optional>
#include <string>

#include "results/messages/message.hpp"
#include "results/stats/stats.hpp"
#include "results/store/record.hpp"

namespace nb {

// What a score's difference shows, after correction for how many scores were compared (Holm).
enum class ScoreOutcome {
  kWorse,           // B is worse
  kBetter,          // B is better
  kInDoubt,         // its interval excludes zero, but not among so many scores
  kNotEstablished,  // a difference that chance explains; nothing says that there is none
  kOneTraining,     // retrained models, one seed a side: chance is not measured
  kUntested,        // totals without items or standard errors
  kEqual,           // answer by answer
  kEqualInCommon,   // answer by answer, on the items that both sides have
  kEqualTotals,     // without items
};
Sentence words_of(ScoreOutcome outcome);  // "worse", "not established", …

struct Score {
  std::string name;   // "mw/facts/accuracy"
  std::string place;  // " of eval base.mw …" where a comparison has several; else empty
  std::string unit;
  bool is_share = false;  // between 0 and 1: printed in percentage points
  Direction direction = Direction::kHigher;
  std::optional<double> a, b;
  double difference = 0;  // b − a
  std::optional<Interval> interval95;
  std::optional<double> p,
      min_detectable;   // min_detectable: smallest difference seen with 80 % power
  Sentence gross = {};  // beyond that bound, no noise known
  ScoreOutcome outcome = ScoreOutcome::kNotEstablished;
};

// What a step costs on both sides; one row for trainings that differ in their seed alone.
struct Cost {
  std::string metric, place;  // "step_time_ns", "train base"
  std::string unit;
  Clock clock = Clock::kSim;
  Direction direction = Direction::kLower;
  double a = 0, b = 0;  // a > 0
  double ratio() const { return b / a; }
};

}  // namespace nb
