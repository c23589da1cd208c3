// Equal weights on one device that were scored differently: rounding, or another evaluator? Judged
// on the items of all seeds of a task together, because what one seed hides five show. For gate.cpp
// and its tests; no records, no files.
#pragma once

#include <vector>

#include "results/gate/gate.hpp"

namespace nb {

struct ScoringTest {
  TaskVerdict verdict;  // metric and where filled; judged here
  PairedCounts counts;  // over all seeds
  bool has_choices = false;
  Margins margins;                                             // over all seeds
  std::int64_t texts = 0, changed_texts = 0, early_texts = 0;  // over all seeds: ItemComparison
};

// Red where any of these says so (REGRESSED when answers were surely lost, else SUSPICIOUS):
// - bias: the mean change of the gold margin is above .005 nat and its t test, clustered by
//   nothing, has p < .01 after Holm;
// - scale: half of all margins moved by more than .05 nat, which rounding does not do;
// - flips in one direction: two-sided mid-p McNemar < .01 after Holm, and for all tasks together;
// - too many flips: more than rounding noise of the observed size would give, p < .01 after Holm;
// - hard flips: an answer changed although its margin was above max(.05 nat, 4 s) on a side, where
//   s is 1.4826 times the median change; .05 nat is .125 where logits are stored as bf16, whose
//   last bit is .0625;
// - early texts: half of at least ten texts part within their first words (kEarlyBytes), whatever
//   becomes of the scores.
// Where a server answered whose answers to one request differ, the limits in nats rise with that
// noise (MarginShift::bias_floor, rounding_limit).
void judge_scoring(std::vector<ScoringTest>& family, const GatePolicy& policy);

}  // namespace nb
