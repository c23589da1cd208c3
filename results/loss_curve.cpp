#include "results/loss_curve.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/base/portable_math.hpp"
#include "results/metric_names.hpp"

namespace nb {
namespace {

constexpr std::size_t kFirstSteps = 10;
constexpr std::size_t kMinForNoise = 8;

// What rounding explains in a column of the first steps.
struct Watched {
  const char* column;
  double limit;       // relative
  std::size_t steps;  // of the first ones
};
// The loss: 1e-3 over ten steps is the usual bound for bf16 on the same data (the alignment guides
// of accelerator vendors use it). The schedule is arithmetic on step numbers and exact.
constexpr Watched kWatched[] = {
    {metric::kSeriesLoss, 1e-3, kFirstSteps},
    {"lr_multiplier", 1e-12, kFirstSteps},
    {metric::kSeriesValBpb, 1e-3, kFirstSteps},
};

}  // namespace

std::optional<CurveDeparture> curve_departure(const Series& a, const Series& b) {
  std::optional<CurveDeparture> first;
  for (const Watched& watched : kWatched) {
    const auto column_a = a.column(watched.column), column_b = b.column(watched.column);
    if (!column_a || !column_b) continue;
    const std::size_t rows = std::min({a.steps.size(), b.steps.size(), watched.steps});
    for (std::size_t row = 0; row < rows; ++row) {
      if (a.steps[row] != b.steps[row]) break;
      const auto &left = a.values[*column_a][row], &right = b.values[*column_b][row];
      if (!left || !right || *left == *right) continue;
      const double relative =
          std::fabs(*right - *left) / std::max(std::fabs(*left), std::fabs(*right));
      if (relative <= watched.limit) continue;
      if (!first || a.steps[row] < first->step)
        first = CurveDeparture{watched.column, a.steps[row],  *left,   *right,
                               relative,       watched.limit, row == 0};
      break;
    }
  }
  return first;
}

std::string departure_text(const CurveDeparture& d) {
  const std::string where = d.before_learning
                                ? "already at the first step, before any weight was updated"
                                : fmt::format("at step {}", d.step);
  return fmt::format("{} {:.6g} → {:.6g} {} ({:.2g} %, rounding explains {:.2g} %)", d.column, d.a,
                     d.b, where, 100 * d.relative, 100 * d.limit);
}

std::optional<double> relative_step_noise(const Series& series) {
  const auto column = series.column(metric::kSeriesLoss);
  if (!column) return std::nullopt;
  std::vector<double> losses;
  for (const auto& value : series.values[*column])
    if (value) losses.push_back(*value);
  const std::size_t half = losses.size() / 2;
  if (losses.size() - half < kMinForNoise) return std::nullopt;
  double squares = 0, sum = losses[half];
  for (std::size_t i = half + 1; i < losses.size(); ++i) {
    squares += (losses[i] - losses[i - 1]) * (losses[i] - losses[i - 1]);
    sum += losses[i];
  }
  const double count = static_cast<double>(losses.size() - half);
  if (sum <= 0) return std::nullopt;
  return pm::sqrt(squares / (2 * (count - 1))) / (sum / count);
}

Result<Series> read_curve(const StoredRecord& training) {
  NB_TRY_VOID(verify_artifact(training, metric::kSeriesFile));
  return read_series(training.folder / metric::kSeriesFile);
}

}  // namespace nb
