#include "results/text/format.hpp"

#include <gtest/gtest.h>

#include "harness/base/table.hpp"
namespace nb {
namespace {

TEST(Format, UnitsDecide) {
  EXPECT_EQ(value_text(0.735, "1"), "0.7350");
  EXPECT_EQ(value_text(0, "1"), "0.0000");
  EXPECT_EQ(value_text(560988160, "1"), "560,988,160");
  EXPECT_EQ(value_text(2.5, "1"), "2.5");
  EXPECT_EQ(value_text(1.8834567, "bit/byte"), "1.88346 bit/byte");
  EXPECT_EQ(value_text(614400, "token"), "614,400 tokens");
  EXPECT_EQ(value_text(1, "item"), "1 item");
  EXPECT_EQ(value_text(0, "item"), "0 items");
  EXPECT_EQ(value_text(-0.5, "1"), "−0.5000");
}

TEST(Format, SignsAreAlwaysShown) {
  EXPECT_EQ(signed_text(0.005, "1"), "+0.0050");
  EXPECT_EQ(signed_text(-0.005, "1"), "−0.0050");
  EXPECT_EQ(signed_text(0, "1"), "0.0000");
  EXPECT_EQ(interval_text({-0.02, 0.03}, "1"), "[−0.0200, +0.0300]");
  EXPECT_EQ(percent_text(-0.0123), "−1.23 %");
}

TEST(Format, PrefixesDoNotPileUp) {
  EXPECT_EQ(value_text(685000, "Gflop/s"), human_rate(685e12, "flop/s"));
  EXPECT_EQ(value_text(2.09, "GB/s"), human_rate(2.09e9, "B/s"));
  EXPECT_EQ(value_text(1110, "1/s"), "1110/s") << "was 1.11 k1/s";
}

TEST(Format, NullsCarryTheirReason) {
  Metric metric;
  metric.reason_if_null = "no counter";
  EXPECT_EQ(value_text(metric), "— (no counter)");
}

TEST(Format, SmallPIsNeverPrintedAsZero) {
  EXPECT_EQ(p_text(0.0215), "0.0215");
  EXPECT_EQ(p_text(1e-9), "< 0.0001");
}

}  // namespace
}  // namespace nb
