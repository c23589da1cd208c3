// A bounded least-squares fit of a few constants: pattern search along the coordinates with steps
// that halve, from where they stand and from three places within their ranges; the best of the
// four. Deterministic; no derivatives. Knows nothing of what is fitted.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct FreeConstant {
  std::string name;
  double value = 0;  // start
  double min = 0, max = 1;
};

struct Fit {
  std::vector<double> values;
  double loss = 0;
  int evaluations = 0;
};

// residuals(values): one per row, of the same number each time; the sum of their squares is made
// small. bad_input: fewer rows than constants, a start outside its range.
Result<Fit> fit_constants(
    const std::vector<FreeConstant>& constants,
    const std::function<std::vector<double>(std::span<const double>)>& residuals);

// Within a thousandth of the range from an end of it: the model is wrong, not the constant.
bool is_at_bound(const FreeConstant& constant, double value);

}  // namespace nb
