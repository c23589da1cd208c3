#include "model/predict/fit.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nb {
namespace {

constexpr double kFirstStep = 0.25;  // of a constant's range
constexpr double kLastStep = 1.0 / 4096;

double sum_of_squares(const std::vector<double>& residuals) {
  double sum = 0;
  for (const double r : residuals) sum += r * r;
  return sum;
}

}  // namespace

Result<Fit> fit_constants(
    const std::vector<FreeConstant>& constants,
    const std::function<std::vector<double>(std::span<const double>)>& residuals) {
  Fit fit;
  for (const FreeConstant& c : constants) {
    if (!(c.min <= c.value && c.value <= c.max))
      return bad_input(fmt::format("{} starts at {}, outside of its range, {} to {}", c.name,
                                   c.value, c.min, c.max));
    fit.values.push_back(c.value);
  }
  const std::vector<double> first = residuals(fit.values);
  if (first.size() < constants.size())
    return bad_input(
        fmt::format("{} constants cannot be fitted on {} rows: mark more rows as fit, or fit fewer "
                    "constants",
                    constants.size(), first.size()));
  fit.loss = sum_of_squares(first);
  fit.evaluations = 1;
  for (double step = kFirstStep; step >= kLastStep;) {
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

bool is_at_bound(const FreeConstant& constant, double value) {
  const double near = (constant.max - constant.min) / 1000;
  return value <= constant.min + near || value >= constant.max - near;
}

}  // namespace nb
