#include "model/predict/fit.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace nb {
namespace {

std::vector<double> line_residuals(std::span<const double> values) {
  std::vector<double> residuals;
  for (const double x : {1.0, 2.0, 3.0, 4.0})
    residuals.push_back(values[0] + values[1] * x - (0.5 + 0.25 * x));
  return residuals;
}

TEST(FitConstants, FindsTheConstantsOfALine) {
  const auto fit = fit_constants({{"a", 0.1, 0, 1}, {"b", 0.9, 0, 1}}, line_residuals);
  ASSERT_TRUE(fit.has_value()) << fit.error().message;
  EXPECT_NEAR(fit->values[0], 0.5, 0.002);
  EXPECT_NEAR(fit->values[1], 0.25, 0.001);
}

TEST(FitConstants, StaysInItsRangeAndSaysWhenItEndsThere) {
  const FreeConstant a{"a", 0.7, 0.6, 1};
  const auto fit = fit_constants({a, {"b", 0.25, 0.25, 0.2501}}, line_residuals);
  ASSERT_TRUE(fit.has_value()) << fit.error().message;
  EXPECT_DOUBLE_EQ(fit->values[0], 0.6);
  EXPECT_TRUE(is_at_bound(a, fit->values[0]));
  EXPECT_FALSE(is_at_bound(a, 0.8));
}

// Two valleys: the present value lies in the shallow one.
TEST(FitConstants, FindsADeeperValleyThanTheOneItStartsIn) {
  const auto fit = fit_constants({{"a", 0.1, 0, 1}}, [](std::span<const double> v) {
    const double shallow = 10 * (v[0] - 0.1), deep = 10 * (v[0] - 0.8);
    return std::vector<double>{std::min(shallow * shallow + 0.5, deep * deep)};
  });
  ASSERT_TRUE(fit.has_value()) << fit.error().message;
  EXPECT_NEAR(fit->values[0], 0.8, 0.01);
}

TEST(FitConstants, FewerRowsThanConstantsAreAnError) {
  const auto fit = fit_constants({{"a", 0, 0, 1}, {"b", 0, 0, 1}}, [](std::span<const double> v) {
    return std::vector<double>{v[0]};
  });
  ASSERT_FALSE(fit.has_value());
  EXPECT_EQ(fit.error().message,
            "2 constants cannot be fitted on 1 rows: mark more rows as fit, or fit fewer "
            "constants");
}

TEST(FitConstants, AStartOutsideItsRangeIsAnError) {
  const auto fit = fit_constants({{"matrix_efficiency", 0.99, 0.6, 0.95}},
                                 [](std::span<const double>) { return std::vector<double>{0}; });
  ASSERT_FALSE(fit.has_value());
  EXPECT_EQ(fit.error().message,
            "matrix_efficiency starts at 0.99, outside of its range, 0.6 to 0.95");
}

}  // namespace
}  // namespace nb
