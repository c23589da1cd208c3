#include "harness/remote/retry.hpp"

#include <gtest/gtest.h>

namespace nb::test {
namespace {

TEST(Retry, OnlyWhatMayPassIsAskedAgain) {
  for (const int status : {408, 409, 425, 429, 500, 502, 503, 504}) EXPECT_TRUE(may_pass(status));
  for (const int status : {200, 301, 400, 401, 403, 404, 413, 422, 501})
    EXPECT_FALSE(may_pass(status));
}

TEST(Retry, AfterIsSecondsOrADate) {
  EXPECT_EQ(retry_after_seconds("3", 0), 3);
  EXPECT_EQ(retry_after_seconds("0.5", 0), 0.5);
  // 1994-11-06 08:49:37 UTC, the example of RFC 9110.
  EXPECT_EQ(retry_after_seconds("Sun, 06 Nov 1994 08:49:37 GMT", 784111770), 7);
  EXPECT_EQ(retry_after_seconds("Sun, 06 Nov 1994 08:49:37 GMT", 784111800), 0);
  for (const char* text : {"", "soon", "-1", "nan", "inf", "3 s"})
    EXPECT_FALSE(retry_after_seconds(text, 0).has_value()) << text;
}

TEST(Retry, WaitsDoubleUpToHalfAMinuteAndObeyTheServerUpToAMinute) {
  EXPECT_EQ(wait_seconds(1, std::nullopt, 1), 0.5);
  EXPECT_EQ(wait_seconds(2, std::nullopt, 1), 1);
  EXPECT_EQ(wait_seconds(5, std::nullopt, 1), 8);
  EXPECT_EQ(wait_seconds(5, std::nullopt, 0.5), 4);
  EXPECT_EQ(wait_seconds(1000, std::nullopt, 1), 30);
  EXPECT_EQ(wait_seconds(1, 7, 1), 7);
  EXPECT_EQ(wait_seconds(1, 3600, 1), 60);
}

TEST(InFlightLimit, GrowsByOneWithSuccessAndHalvesWhenItIsTooMuch) {
  InFlightLimit limit(6);
  EXPECT_EQ(limit.limit(), 4);
  const auto succeed = [&](int times) {
    for (int i = 0; i < times; ++i) limit.succeeded();
  };
  succeed(31);
  EXPECT_EQ(limit.limit(), 4);
  succeed(1);
  EXPECT_EQ(limit.limit(), 5);
  succeed(100);
  EXPECT_EQ(limit.limit(), 6);
  limit.overloaded();
  EXPECT_EQ(limit.limit(), 3);
  for (int i = 0; i < 5; ++i) limit.overloaded();
  EXPECT_EQ(limit.limit(), 1);
  EXPECT_EQ(InFlightLimit(2).limit(), 2);
}

}  // namespace
}  // namespace nb::test
