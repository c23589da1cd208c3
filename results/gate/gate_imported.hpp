// Did another harness's scores get worse? Two finished models as their files show them: paired
// items where both have them, totals with their standard errors else, gross changes where nothing
// tells the chance. For gate.cpp and its tests.
#pragma once

#include <vector>

#include "results/gate/gate.hpp"

namespace nb {

struct ImportedVerdicts {
  std::vector<TaskVerdict> verdicts;
  std::vector<Sentence> notes;
};

// All pairs of imported records of a comparison, which must be whole (items verified).
// INCOMPARABLE: other shots or task versions, other prompts or reference answers of paired items,
// no common item, totals that contradict their parts or items. ERROR: the candidate lacks a score
// or items that the baseline has, or could not score .5 % more of them. Headline numbers, parts of
// groups and other metrics are families of their own (imported_rows.hpp), each with its share of
// alpha; of parts and other metrics only what is surely worse is a verdict. The numbers are those
// that `compare` shows: what it calls worse is never a PASS, and IMPROVED is only what it calls
// better.
ImportedVerdicts judge_imported(const std::vector<const RecordPair*>& pairs,
                                const GatePolicy& policy);

}  // namespace nb
