// CORE and ChatCORE from the accuracies of their tasks, wherever those come from, with intervals.
// evals/core/composite.hpp and evals/chat/composite.hpp make them of evaluations of our own; a test
// compares both.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/audit/table.hpp"
#include "results/stats/stats.hpp"

namespace nb {

struct Aggregate {
  std::string name;  // "core", "core_v2", "chatcore", "chatcore_with_spellingbee"
  std::optional<double> value;
  std::optional<double> standard_error;  // of sampling the items; empty where an n is not known
  std::optional<Interval> interval;      // normal, 95 %
  double rounding = 0;               // how far the printed digits of the tasks can move the value
  int tasks = 0;                     // that it is made of
  std::vector<std::string> missing;  // without these there is no value
};

// Those that the stage has at least one task of. An accuracy and a centred score serve alike. CORE
// has both tables of guessing; ChatCORE is made of five tasks, and of six where SpellingBee is
// there.
std::vector<Aggregate> aggregates_of(const ReportedStage& stage);

// Accuracy of a cell (kAccuracy, or kCentred with nanochat's guessing), and its centred score.
double accuracy_of(const ReportedCell& cell);
double centred_of(const ReportedCell& cell);

// "core needs all 22 tasks; missing: copa, piqa and 3 more"
std::string missing_text(const Aggregate& aggregate);

}  // namespace nb
