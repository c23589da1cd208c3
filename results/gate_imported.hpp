// Did another harness's scores get worse? Two finished models as their files show them: paired
// items where both have them, totals with their standard errors else. For gate.cpp and its tests.
#pragma once

#include <string>
#include <vector>

#include "results/gate.hpp"
#include "results/gate_judge.hpp"

namespace nb {

struct ImportedVerdicts {
  std::vector<TaskVerdict> verdicts;
  std::vector<ItemTest> items;  // 0/1 items: judged with the night's family
  std::vector<std::string> notes;
};

// Headline numbers alone are judged (MetricDifference::primary). INCOMPARABLE: other shots or task
// versions, other prompts or reference answers of paired items, no common item. ERROR: the
// candidate lacks a score or items that the baseline has, or could not score .5 % more of them.
// Fractions and totals: one-sided t or z test, multiplied by the number of scores (Bonferroni),
// with the margin of items; totals without n and standard error: INCONCLUSIVE.
ImportedVerdicts judge_imported(const RecordPair& pair, const GatePolicy& policy);

}  // namespace nb
