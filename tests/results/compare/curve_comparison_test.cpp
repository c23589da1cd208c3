#include "results/compare/curve_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "results/store/curve_columns.hpp"

namespace nb {
namespace {

Curve curve_with(std::string_view name, const std::vector<double>& values, int stride = 1) {
  Curve curve;
  CurveColumn column = column_named(name);
  for (std::size_t i = 0; i < values.size(); ++i)
    curve.steps.push_back(static_cast<std::int64_t>(i) * stride);
  column.values = values;
  curve.columns.push_back(std::move(column));
  return curve;
}

std::vector<double> values_of(int n, const std::function<double(int)>& value) {
  std::vector<double> values;
  for (int i = 0; i < n; ++i) values.push_back(value(i));
  return values;
}

double falling(int i, int n) { return 2.5 + 8.5 * std::exp(-12. * i / n); }

ColumnComparison compared(const std::vector<double>& a, const std::vector<double>& b,
                          std::string_view name = column::kTrainLoss) {
  const CurveComparison curves = compare_curves(curve_with(name, a), curve_with(name, b));
  const ColumnComparison* column = curves.find(name);
  EXPECT_NE(column, nullptr);
  return column == nullptr ? ColumnComparison{} : *column;
}

TEST(CurveComparison, EqualCurvesAreEqualToTheLastDigit) {
  const auto loss = values_of(50, [](int i) { return falling(i, 50); });
  const ColumnComparison column = compared(loss, loss);
  EXPECT_EQ(column.equal_points, 50u);
  EXPECT_FALSE(column.worse || column.better || column.apart_from);
}

// The first nightly gates on logs stayed green whatever happened: no loss was read.
TEST(CurveComparison, ADriftOfThreeHundredthsAStepIsWorse) {
  const auto a = values_of(41, [](int i) { return std::round(1e6 * falling(i, 41)) / 1e6; });
  const auto b = values_of(41, [&](int i) { return a[static_cast<std::size_t>(i)] + .03 * i; });
  const ColumnComparison column = compared(a, b);
  EXPECT_TRUE(column.worse);
  EXPECT_EQ(column.last_equal, 0);
  EXPECT_EQ(column.apart_from, 1);
  EXPECT_NEAR(column.end_b.last - column.end_a.last, 1.2, 1e-9);
  EXPECT_NEAR(column.largest->difference, 1.17, 1e-9);  // median of the last three
  EXPECT_TRUE(compared(b, a).better);
}

TEST(CurveComparison, FourPointsShowAGrossChange) {
  const ColumnComparison column = compared({10.82, 5.91, 4.82, 4.31}, {10.82, 5.99, 5.12, 4.95});
  EXPECT_TRUE(column.worse);
  EXPECT_EQ(column.last_equal, 0);
  EXPECT_EQ(column.one_sided_from, 1);
  EXPECT_NEAR(column.last->difference, .64, 1e-12);
}

TEST(CurveComparison, OneSpikeIsNoLastingDifference) {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal(0, .02);
  const auto a = values_of(100, [&](int i) { return falling(i, 100) + normal(random); });
  auto b = values_of(100, [&](int i) { return falling(i, 100) + normal(random); });
  b[80] += 5;
  const ColumnComparison column = compared(a, b);
  EXPECT_FALSE(column.worse || column.was_worse);
  EXPECT_LT(std::fabs(column.largest->difference), .2);
}

TEST(CurveComparison, ALateJumpIsSeenWhereItBegins) {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal(0, .02);
  const auto a = values_of(200, [&](int i) { return falling(i, 200) + normal(random); });
  const auto b =
      values_of(200, [&](int i) { return falling(i, 200) + normal(random) + (i >= 150 ? .6 : 0); });
  const ColumnComparison column = compared(a, b);
  EXPECT_TRUE(column.worse);
  ASSERT_TRUE(column.apart_from);
  EXPECT_NEAR(static_cast<double>(*column.apart_from), 150, 1);
}

TEST(CurveComparison, ALossThatBreaksIsWorse) {
  Curve a = curve_with("train_loss", values_of(30, [](int i) { return falling(i, 30); }));
  Curve b = a;
  for (std::size_t i = 20; i < 30; ++i)
    b.columns[0].values[i] = std::numeric_limits<double>::quiet_NaN();
  b.columns[0].not_finite_from = 20;
  EXPECT_TRUE(compare_curves(a, b).find("train_loss")->worse);
  EXPECT_FALSE(compare_curves(b, a).find("train_loss")->worse);
}

// Printed with two decimals, the last digit of a smooth curve flickers.
TEST(CurveComparison, TheLastPrintedDigitIsNoDifference) {
  const auto a = values_of(60, [](int i) { return std::round(100 * (3 - .01 * i)) / 100; });
  const auto b = values_of(60, [&](int i) { return a[static_cast<std::size_t>(i)] + .01; });
  EXPECT_FALSE(compared(a, b).worse);
}

// GRPO's loss is zero by construction: 4.7e-9 → 7.0e-9 is no change of 33 %.
TEST(CurveComparison, ALossThatIsZeroByConstructionHasAnAbsoluteLimit) {
  const auto a = values_of(40, [](int i) { return 4.7e-9 + 1e-12 * i; });
  const auto b = values_of(40, [](int i) { return 7.0e-9 + 1e-12 * i; });
  EXPECT_FALSE(compared(a, b).worse);
}

TEST(CurveComparison, ARateThatFallsLateIsNamedWithItsStep) {
  const auto a = values_of(60, [](int) { return .02; });
  const auto b = values_of(60, [](int i) { return i < 30 ? .02 : .014; });
  const ColumnComparison column = compared(a, b, column::kLearningRate);
  EXPECT_EQ(column.differs_at, 30);
  EXPECT_EQ(column.differing_points, 30u);
  EXPECT_EQ(column.exact_b, .014);
  EXPECT_FALSE(compared(a, a, column::kLearningRate).differs_at);
}

TEST(CurveComparison, TimesAreComparedWithoutTheFirstSteps) {
  const auto a = values_of(40, [](int i) { return i < 5 ? 5e9 : 460e6; });
  const auto b = values_of(40, [](int i) { return i < 5 ? 9e9 : 911e6; });
  const ColumnComparison column = compared(a, b, column::kStepTime);
  EXPECT_EQ(column.typical_a, 460e6);
  EXPECT_EQ(column.typical_b, 911e6);
}

// The same data in steps of twice the size: half of the steps, the same losses by tokens.
TEST(CurveComparison, OtherBatchesAreLaidOverByTokens) {
  const auto loss = [](double tokens) { return 2.5 + 8.5 * std::exp(-tokens / 20000); };
  Curve a, b;
  for (Curve* curve : {&a, &b}) {
    curve->columns = {column_named(column::kTrainLoss), column_named(column::kTokens)};
    const int batch = curve == &a ? 1000 : 2000;
    for (int i = 1; i <= 100000 / batch; ++i) {
      curve->steps.push_back(i);
      curve->columns[0].values.push_back(loss(i * batch));
      curve->columns[1].values.push_back(i * batch);
    }
  }
  const CurveComparison curves = compare_curves(a, b);
  EXPECT_EQ(curves.aligned_by, "tokens");
  EXPECT_FALSE(curves.why_not_by_step.empty());
  const ColumnComparison& column = *curves.find(column::kTrainLoss);
  EXPECT_FALSE(column.worse || column.better);
  EXPECT_LT(std::fabs(column.last->difference), .001);
}

// Healthy pairs: noise alone, white, correlated, smoothed as nanochat prints it, and with an offset
// of seeds. At most 5 % of them may be red, worse or better. (2,000 pairs a kind: at most
// 5.3 %, that of the slowest wandering on 24 points.)
TEST(CurveComparison, HealthyPairsAreSeldomRed) {
  struct Kind {
    const char* name;
    double correlation = 0;
    bool smoothed = false;
    double offset = 0;
  };
  std::mt19937_64 random(2026);
  std::normal_distribution<double> normal;
  constexpr double kNoise = .05;
  for (const Kind& kind :
       {Kind{"white"}, Kind{"correlated", .6}, Kind{"wandering", .9}, Kind{"slowly wandering", .95},
        Kind{"smoothed", 0, true}, Kind{"seeds", 0, false, .5}})
    for (const int n : {6, 20, 41, 200}) {
      const auto drawn = [&](double offset) {
        double state = kNoise * normal(random), mean = 0;
        return values_of(n, [&](int i) {
          const double fresh = kNoise * normal(random);
          state =
              kind.correlation * state + std::sqrt(1 - kind.correlation * kind.correlation) * fresh;
          const double value = falling(i, n) + state + offset;
          if (!kind.smoothed) return value;
          mean = .9 * mean + .1 * value;
          return mean / (1 - std::pow(.9, i + 1));
        });
      };
      constexpr int kPairs = 200;
      int red = 0;
      for (int pair = 0; pair < kPairs; ++pair) {
        const auto a = drawn(0), b = drawn(kind.offset * kNoise * normal(random));
        const ColumnComparison column = compared(a, b);
        red += column.worse || column.better || column.was_worse ? 1 : 0;
      }
      // 5 % of 200 and two standard errors of it.
      EXPECT_LE(red, 16) << kind.name << ", " << n << " points";
    }
}

// What one seed must see: fifteen times the noise of a step (ten times that of a difference).
TEST(CurveComparison, FifteenTimesTheNoiseIsAlwaysRed) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, .05);
  int red = 0;
  for (int pair = 0; pair < 100; ++pair) {
    const auto a = values_of(100, [&](int i) { return falling(i, 100) + normal(random); });
    const auto b = values_of(
        100, [&](int i) { return falling(i, 100) + normal(random) + (i > 50 ? .75 : 0); });
    red += compared(a, b).worse ? 1 : 0;
  }
  EXPECT_GE(red, 98);
}

// A log whose steps jump by a quarter hid a loss that stayed 40 % higher: 5 SD of such steps are
// more than the loss itself.
TEST(CurveComparison, AGrossChangeThatLastsIsSeenThroughLoudSteps) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal(0, .3);
  int red = 0, false_red = 0;
  for (int pair = 0; pair < 200; ++pair) {
    const auto drawn = [&](double offset) {
      return values_of(100,
                       [&](int i) { return 1.2 + std::exp(-i / 10.) + normal(random) + offset; });
    };
    const auto a = drawn(0);
    red += compared(a, drawn(.5)).worse ? 1 : 0;
    const ColumnComparison same = compared(a, drawn(0));
    false_red += same.worse || same.better ? 1 : 0;
  }
  EXPECT_GE(red, 190);
  EXPECT_LE(false_red, 4);
}

// The same batches on both sides: their noise is in both curves and gone in the difference, which
// is a sixth of it and always above.
TEST(CurveComparison, ASteadyDifferenceBelowTheNoiseIsNamed) {
  std::mt19937_64 random(12);
  std::normal_distribution<double> normal;
  int named = 0;
  for (int pair = 0; pair < 100; ++pair) {
    const auto batches = values_of(100, [&](int) { return .06 * normal(random); });
    const auto drawn = [&](double offset) {
      return values_of(100, [&](int i) {
        return falling(i, 100) + batches[static_cast<std::size_t>(i)] + offset +
               .002 * normal(random);
      });
    };
    const ColumnComparison column = compared(drawn(0), drawn(.01));
    EXPECT_FALSE(column.worse);
    if (!column.steady) continue;
    ++named;
    EXPECT_GT(column.steady->mean, 0);
    EXPECT_EQ(column.steady->points, 75u);
  }
  EXPECT_GE(named, 95);
}

TEST(CurveComparison, TheFirstSentenceNamesASteadySide) {
  const auto a = values_of(60, [](int i) { return falling(i, 60) + .05 * (i % 3 - 1); });
  const auto b =
      values_of(60, [&](int i) { return a[static_cast<std::size_t>(i)] + .02 + .001 * (i % 2); });
  const CurveComparison curves =
      compare_curves(curve_with(column::kTrainLoss, a), curve_with(column::kTrainLoss, b));
  const std::string said = text_of(curves_sentence(curves));
  EXPECT_EQ(said.find("B lies to one side of A, by less than single steps jump"), 0U) << said;
  EXPECT_NE(said.find("B above A at 45 of the last 45 points"), std::string::npos) << said;
}

// Differences that are chance alone, however alike neighbours are: at most 5 % are named, of each
// kind. White noise below a slow walk is what rounding makes of two trainings on the same data.
TEST(CurveComparison, ChanceIsSeldomASteadySide) {
  struct Kind {
    const char* name;
    double white, step, keep;  // of a walk that keeps that share of where it is
  };
  std::mt19937_64 random(13);
  std::normal_distribution<double> normal;
  for (const Kind& kind :
       {Kind{"white", .02, 0, 0}, Kind{"alike", 0, .02, .6}, Kind{"wandering", 0, .02, .9},
        Kind{"slowly wandering", 0, .02, .97}, Kind{"a walk", 0, .02, 1},
        Kind{"noise over a walk", .01, .004, 1}, Kind{"noise over slow wandering", .02, .01, .97}})
    for (const int n : {20, 50, 100, 400}) {
      constexpr int kPairs = 400;
      int named = 0;
      for (int pair = 0; pair < kPairs; ++pair) {
        const auto batches = values_of(n, [&](int) { return .5 * normal(random); });
        double state = 0;
        const auto a = values_of(
            n, [&](int i) { return falling(i, n) + batches[static_cast<std::size_t>(i)]; });
        const auto b = values_of(n, [&](int i) {
          state = kind.keep * state + kind.step * normal(random);
          return a[static_cast<std::size_t>(i)] + state + kind.white * normal(random);
        });
        named += compared(a, b).steady ? 1 : 0;
      }
      // 5 % of 400 and two standard errors of it.
      EXPECT_LE(named, 28) << kind.name << ", " << n << " points";
    }
}

TEST(CurveColumns, ACurveComesBackFromItsCsv) {
  Curve curve = curve_with("train_loss", {3, 2.5, 1. / 3});
  curve.columns[0].values[1] = std::numeric_limits<double>::quiet_NaN();
  const auto text = curve_csv(curve, "f");
  ASSERT_TRUE(text);
  EXPECT_EQ(*text, "step,train_loss\n0,3\n1,\n2,0.3333333333333333\n");
}

}  // namespace
}  // namespace nb
