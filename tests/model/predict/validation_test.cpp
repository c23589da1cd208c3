#include "model/predict/validation.hpp"

#include <gtest/gtest.h>

#include "model/predict/dense_validation.hpp"
#include "model/predict/validate.hpp"

namespace nb {
namespace {

ValidationRow row_with(RowUse use, double error) {
  ValidationRow row;
  row.use = use;
  row.error = error;
  return row;
}

TEST(Validation, ErrorsAreOfTheTimeWhateverTheUnit) {
  EXPECT_DOUBLE_EQ(error_of(125, 100, "us"), 0.25);
  EXPECT_DOUBLE_EQ(error_of(100, 125, "tok/s"), 0.25);  // fewer tokens: more time
  EXPECT_DOUBLE_EQ(error_of(75, 100, "MiB"), -0.25);
}

TEST(Validation, MeansAndWorstRowsAreOfTheAskedUse) {
  ValidationGroup group;
  group.rows = {row_with(RowUse::kFit, -0.02), row_with(RowUse::kFit, 0.04),
                row_with(RowUse::kReport, 0.5), ValidationRow{}};
  const auto fit = errors_in(group, &ValidationRow::error, RowUse::kFit);
  EXPECT_DOUBLE_EQ(*mean_absolute(fit), 0.03);
  EXPECT_DOUBLE_EQ(*largest_absolute(fit), 0.04);
  EXPECT_DOUBLE_EQ(*largest_absolute(errors_in(group, &ValidationRow::error)), 0.5);
  EXPECT_FALSE(mean_absolute({}).has_value());
}

TEST(Validation, AFigureWithoutARowDoesNotHold) {
  EXPECT_TRUE((ValidationFigure{"f", 0.06, 0.06}).holds());
  EXPECT_FALSE((ValidationFigure{"f", 0.0601, 0.06}).holds());
  EXPECT_FALSE((ValidationFigure{"f", {}, 0.06}).holds());
}

TEST(Validation, NearTheGpuIsATieBeyondItTheSideCounts) {
  EXPECT_EQ(side_of(1.09, 0.5), Side::kTie);
  EXPECT_EQ(side_of(0.91, 1.5), Side::kTie);
  EXPECT_EQ(side_of(1.21, 1.01), Side::kRight);
  EXPECT_EQ(side_of(1.21, 0.99), Side::kWrong);
  EXPECT_EQ(side_of(0.82, 0.99), Side::kRight);
}

// One utilisation of the peak for the twelve rows errs by 14.8 and 16.2 % (the project's own
// demand, computed apart from this code); the family by at most 6 and 9 %.
// Attention written by hand, not by the fit: the errors alone would pass.
TEST(Validate, AConstantThatNoFitWroteIsSeen) {
  Family family = *load_family("megatron_npu");
  for (FamilyConstant& c : family.constants)
    if (c.name == "attention_efficiency") c.value = 0.45;
  const auto dense = validate_dense(*calibration_rows("megatron_readme"),
                                    *calibration_rows("megatron_ci"), family);
  ASSERT_TRUE(dense.has_value()) << dense.error().message;
  for (const ConstantSpread& c : dense->constants)
    if (c.name == "attention_efficiency") {
      EXPECT_LT(c.refitted, 0.35);
    }
}

TEST(Validate, StepsAreWithinTheirLimitsBesideThePlainestModel) {
  const auto validation = validate(*calibration_tables());
  ASSERT_TRUE(validation.has_value()) << validation.error().message;
  const ValidationGroup& steps = *validation->find("steps");
  const auto mean = [&](RowError error) {
    return *mean_absolute(errors_in(steps, error, RowUse::kFit));
  };
  EXPECT_EQ(errors_in(steps, &ValidationRow::left_out).size(), 12U);
  EXPECT_NEAR(mean(&ValidationRow::baseline), 0.148, 0.001);
  EXPECT_NEAR(mean(&ValidationRow::baseline_left_out), 0.162, 0.001);
  EXPECT_LE(mean(&ValidationRow::error), 0.06);
  EXPECT_LE(mean(&ValidationRow::left_out), 0.09);
  ASSERT_EQ(validation->constants.size(), 3U);
  for (const ConstantSpread& c : validation->constants) {
    EXPECT_NEAR(c.refitted, c.value, (c.max - c.min) / 100) << c.name;
    EXPECT_LT(c.lowest, c.value) << c.name;
    EXPECT_GT(c.highest, c.value) << c.name;
    EXPECT_LT(c.highest - c.lowest, (c.max - c.min) * 2 / 3) << c.name << " is not determined";
  }
  // Two jobs that are nearly the same were measured on both sides, 0.90 and 1.13: one is wrong.
  for (const SideRow& side : validation->sides) {
    if (side.id == "llama3-8b@master") continue;
    EXPECT_NE(side.side, Side::kWrong) << side.id;
  }
  for (const ValidationGroup& group : validation->groups)
    for (const ValidationRow& row : group.rows) {
      EXPECT_FALSE(row.reason.empty()) << row.id;
      if (row.use == RowUse::kExclude) {
        EXPECT_FALSE(row.predicted.has_value()) << row.id;
      }
    }
}

}  // namespace
}  // namespace nb
