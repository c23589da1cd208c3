#include "harness/base/check.hpp"

#include <gtest/gtest.h>

#include <string>

namespace nb {
namespace {

std::string message_of_failure(int k) {
  try {
    NB_CHECK(k == 3, "[op] k is {}", k);
  } catch (const CheckFailure& failure) {
    return failure.what();
  }
  return {};
}

TEST(Check, HoldsInSilence) { EXPECT_EQ(message_of_failure(3), ""); }

TEST(Check, FailureTellsMessageConditionAndPlaceFromTheRoot) {
  EXPECT_EQ(message_of_failure(4).substr(0, 43), "[op] k is 4 (check failed: k == 3, tests/ha");
  EXPECT_NE(message_of_failure(4).find(", tests/harness/base/check_test.cpp:"), std::string::npos);
}

TEST(Check, EvaluatesItsConditionOnce) {
  int calls = 0;
  NB_CHECK(++calls > 0, "never");
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace nb
