#include "model/predict/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace nb {
namespace {

constexpr double kFirstStep = 0.25;  // of a constant's range
constexpr double kCoarseStep = 1.0 / 64;
constexpr double kLastStep = 1.0 / 4096;
// Present values stay where the fit's are better by less than this share of its loss, or than a
// hundredth of a percent of each row's time: a fit that is repeated moves nothing.
constexpr double kAsGood = 1e-4, kSquareAsGood = 1e-8;
// Shares of the ranges, beside the present values.
constexpr std::array kStarts = {0.25, 0.5, 0.75};

double sum_of_squares(const std::vector<double>& residuals) {
  double sum = 0;
  for (const double r : residuals) sum += r * r;
  return sum;
}

using Residuals = std::function<std::vector<double>(std::span<const double>)>;

// Along the coordinates, each step a share of the range, until no step of the last size helps.
Fit search_from(std::vector<double> start, const std::vector<FreeConstant>& constants,
                double last_step, const Residuals& residuals) {
  Fit fit;
  fit.values = std::move(start);
  fit.loss = sum_of_squares(residuals(fit.values));
  fit.evaluations = 1;
  for (double step = kFirstStep; step >= last_step;) {
    bool is_better = false;
    for (std::size_t i = 0; i < constants.size(); ++i) {
      for (const double sign : {1.0, -1.0}) {
        const FreeConstant& c = constants[i];
        std::vector<double> trial = fit.values;
        trial[i] = std::clamp(trial[i] + sign * step * (c.max - c.min), c.min, c.max);
        if (trial[i] == fit.values[i]) continue;
        const double loss = sum_of_squares(residuals(trial));
        ++fit.evaluations;
        if (!(loss < fit.loss)) continue;
        fit.loss = loss;
        fit.values = std::move(trial);
        is_better = true;
        break;
      }
    }
    if (!is_better) step /= 2;
  }
  return fit;
}

}  // namespace

Result<Fit> fit_constants(const std::vector<FreeConstant>& constants, const Residuals& residuals) {
  std::vector<double> standing;
  for (const FreeConstant& c : constants) {
    if (!(c.min <= c.value && c.value <= c.max))
      return bad_input(fmt::format("{} starts at {}, outside of its range, {} to {}", c.name,
                                   c.value, c.min, c.max));
    standing.push_back(c.value);
  }
  const std::vector<double> present = residuals(standing);
  const std::size_t rows = present.size();
  if (rows < constants.size())
    return bad_input(
        fmt::format("{} constants cannot be fitted on {} rows: mark more rows as fit, or fit fewer "
                    "constants",
                    constants.size(), rows));
  // Coarsely from every start, then finely from where the best of them ended.
  Fit best = search_from(standing, constants, kCoarseStep, residuals);
  int evaluations = best.evaluations;
  for (const double share : kStarts) {
    std::vector<double> start;
    for (const FreeConstant& c : constants) start.push_back(c.min + share * (c.max - c.min));
    Fit fit = search_from(std::move(start), constants, kCoarseStep, residuals);
    evaluations += fit.evaluations;
    if (fit.loss < best.loss) best = std::move(fit);
  }
  best = search_from(best.values, constants, kLastStep, residuals);
  best.evaluations += evaluations;
  const double loss = sum_of_squares(present);
  if (loss <= best.loss * (1 + kAsGood) + kSquareAsGood * static_cast<double>(rows)) {
    best.values = std::move(standing);
    best.loss = loss;
  }
  return best;
}

bool is_at_bound(const FreeConstant& constant, double value) {
  const double near = (constant.max - constant.min) / 1000;
  return value <= constant.min + near || value >= constant.max - near;
}

}  // namespace nb
