// Two trainings' curves side by side: where they part, the largest difference that lasts, how they
// end, what ran faster. Measured once; printed by curve_comparison_text.cpp, judged by
// gate_curves.cpp. Of imported trainings; twins of ours are loss_curve.hpp's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "results/messages/message.hpp"
#include "results/stats/stats.hpp"
#include "results/store/curve.hpp"

namespace nb {

// Medians of neighbouring points: one spike is no difference.
struct CurveWindow {
  std::int64_t from = 0, to = 0;  // steps, tokens or samples
  double a = 0, b = 0, difference = 0;
};

// B on one side of A though single steps jump further than that: the noise that both have in
// common, as of the same data, is gone in the difference. True of these two trainings; another seed
// may do as much, so it is neither worse nor better.
struct SteadySide {
  std::size_t points = 0, same_side = 0;  // of the last three quarters
  double mean = 0;                        // of the differences
  Interval interval95;                    // their likeness to the ones before counted
};

struct CurveEnd {
  double last = 0, best = 0;  // best: in the column's direction
  std::int64_t best_at = 0;
};

// One column that both sides have.
struct ColumnComparison {
  std::string name, unit;
  Direction direction = Direction::kNone;
  Clock clock = Clock::kNone;
  std::size_t points = 0;  // that both sides state
  CurveEnd end_a, end_b;
  std::optional<std::int64_t> broken_a, broken_b;  // not finite from this step on

  // Columns without a clock.
  std::size_t equal_points = 0;                // the first ones that are equal to the last digit
  std::optional<std::int64_t> last_equal;      // the last of these
  std::optional<std::int64_t> one_sided_from;  // from here to the end B stays on one side of A
  std::optional<std::int64_t> apart_from;      // the same, and beyond the noise of single steps
  std::optional<CurveWindow> largest, last;    // largest: in the last three quarters
  double limit = 0;                            // differences up to this one are what noise explains
  Sentence basis;                              // of the limit: "5 SD of a difference, …"
  bool worse = false, better = false;          // at the end, beyond the limit
  bool was_worse = false;                      // before, and not at the end
  std::optional<SteadySide> steady;            // neither, and yet no chance of single steps

  // Columns of a clock: middle (memory: largest) values without the first steps.
  double typical_a = 0, typical_b = 0;
  std::size_t typical_points = 0;

  // Columns that a recipe fixes: the first point that differs.
  bool is_exact = false;
  std::optional<std::int64_t> differs_at;
  std::size_t differing_points = 0;
  double exact_a = 0, exact_b = 0;  // there
};

struct CurveComparison {
  std::string aligned_by;    // "step", "tokens", "samples"; empty: no point in common
  Sentence why_not_by_step;  // "a step has 1024 tokens in A, 2048 in B"; empty: by step
  std::size_t points = 0;    // steps of A that B has as well
  std::int64_t from = 0, to = 0;
  std::size_t steps_a = 0, steps_b = 0;
  std::vector<ColumnComparison> columns;
  std::vector<std::string> only_a, only_b;  // columns
  const ColumnComparison* find(std::string_view name) const;
};
CurveComparison compare_curves(const Curve& a, const Curve& b);

// Noise of single steps of the training loss about its trend, relative to its size, over the last
// half of the curve; an upper limit. Nothing: no such loss, or fewer than 16 steps.
std::optional<double> relative_noise(const Curve& curve);
// Differences of a loss that rounding explains at most.
double rounding_floor(double value);

// "train_loss: equal up to step 0, apart from step 1 on, +1.2 nat (41 %) at the end": for the first
// lines.
Sentence column_sentence(const ColumnComparison& column, const std::string& aligned_by);
// Of all columns with a better side, one sentence: "B is worse on train_loss: …."; empty: there are
// none.
Sentence curves_sentence(const CurveComparison& curves);
std::string curves_text(const CurveComparison& curves);  // terminal, 80 columns
Json curves_json(const CurveComparison& curves);

}  // namespace nb
