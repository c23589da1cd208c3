// Rows of other harnesses' scores in a comparison: paired items, totals with their chance, groups
// of tasks, and what each row shows once the whole family is known. compare.cpp fills them, the
// gate (gate_imported.hpp) judges by the same numbers, so that the two never contradict each other.
#pragma once

#include <vector>

#include "results/compare/compare.hpp"

namespace nb {

// Interval, p and what could be seen of one row whose difference is there. items: of the row's
// metric; nullptr: totals. a, b: the row's metrics.
void fill_imported_row(MetricDifference& row, const RecordPair& pair, const ItemComparison* items,
                       const Metric* a, const Metric* b);

// Which family of tests a row belongs to: each has its own correction (Holm).
enum class ScoreFamily {
  kNone,      // nothing to test: no direction, no difference, a clock
  kHeadline,  // one number per task or group: what the first line counts
  kParts,     // subjects of a group, looked at below it
  kBeside,    // other metrics of a task
};
ScoreFamily family_of(const MetricDifference& row);

// Of all imported pairs together: groups get the chance of their parts, families their corrected p,
// rows what they show.
void settle_imported(std::vector<RecordPair>& pairs);

// One-sided p of "B is worse" (better: of "B is better") of a row with p_two_sided.
// exact: McNemar's exact test of paired items instead of mid-p.
double p_worse_of(const MetricDifference& row, bool exact = false);
double p_better_of(const MetricDifference& row, bool exact = false);

}  // namespace nb
