#include "model/optim/schedules.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

// nanochat's base_train.py: 21400 steps, warmdown round(0.2 n) = 4280.
TEST(LrMultiplier, StaysOneUntilTheWarmdownAndEndsAtZero) {
  const LrSchedule d20{.iterations = 21400};
  EXPECT_EQ(lr_multiplier(d20, 0), 1);
  EXPECT_EQ(lr_multiplier(d20, 17120), 1);
  EXPECT_EQ(lr_multiplier(d20, 17121), 4279.0 / 4280.0);
  EXPECT_EQ(lr_multiplier(d20, 21399), 1.0 / 4280.0);
  EXPECT_EQ(lr_multiplier(d20, 21400), 0);
}

TEST(LrMultiplier, WarmsUpLinearlyAndKeepsAFinalFraction) {
  const LrSchedule schedule{
      .iterations = 10, .warmup_ratio = 0.4, .warmdown_ratio = 0.5, .final_lr_frac = 0.1};
  EXPECT_EQ(lr_multiplier(schedule, 0), 0.25);
  EXPECT_EQ(lr_multiplier(schedule, 3), 1);
  EXPECT_EQ(lr_multiplier(schedule, 5), 1);
  EXPECT_DOUBLE_EQ(lr_multiplier(schedule, 6), 0.8 + 0.2 * 0.1);
  EXPECT_DOUBLE_EQ(lr_multiplier(schedule, 10), 0.1);
}

TEST(LrMultiplier, RoundsHalfToEvenAsPython) {
  // round(0.25 × 10) = round(2.5) = 2 in Python.
  const LrSchedule schedule{.iterations = 10, .warmdown_ratio = 0.25};
  EXPECT_EQ(lr_multiplier(schedule, 8), 1);
  EXPECT_EQ(lr_multiplier(schedule, 9), 0.5);
}

TEST(MuonMomentum, RampsOverThreeHundredSteps) {
  EXPECT_EQ(muon_momentum(0), 0.85);
  EXPECT_DOUBLE_EQ(muon_momentum(150), 0.90);
  EXPECT_EQ(muon_momentum(300), 0.95);
  EXPECT_EQ(muon_momentum(5000), 0.95);
}

TEST(WidthLrScale, IsThePublishedFactorOfD20) {
  EXPECT_NEAR(0.004 * width_lr_scale(1280), 0.00309839, 5e-9);
  EXPECT_NEAR(0.2 * width_lr_scale(1280), 0.1549193, 5e-8);
}

}  // namespace
}  // namespace nb
