// The short form of nights_main.cpp: few nights, wide limits, so that a broken rule shows.
#include "tests/gate/nights.hpp"

#include <gtest/gtest.h>

namespace nb::test {
namespace {

// One standard error of a share of 200 nights is at most .035.
TEST(Nights, FixedCheckpointsBehaveAsPublished) {
  const NightShares healthy = fixed_nights(five_tasks(.01), .01, 300);
  EXPECT_LE(healthy.red, .06);
  EXPECT_NEAR(healthy.open, .117, .06);
  EXPECT_NEAR(fixed_nights(five_tasks(.01, .005), .01, 200).red, .880, .08);
  EXPECT_NEAR(fixed_nights(one_falls("humaneval", .01, .05, .04), .01, 200).red, .488, .1);
  EXPECT_GE(fixed_nights(one_falls("gsm8k", .01, .025, .02), .01, 100).red, .97);
}

TEST(Nights, RoundingIsRarelyRed) { EXPECT_LE(rounded_nights(.008, 20).red, .1); }

TEST(Nights, RetrainedModelsAreRarelyRed) {
  EXPECT_LE(retrained_nights(5, .01, true, true, 200).red, .07);
  EXPECT_LE(retrained_nights(5, .01, false, false, 200).red, .07);
}

TEST(Nights, TheControlSeesOneBit) {
  EXPECT_EQ(control_nights(50, 0).red, 0);
  EXPECT_NEAR(control_nights(50, 50).red, 1, 1e-9);
}

}  // namespace
}  // namespace nb::test
