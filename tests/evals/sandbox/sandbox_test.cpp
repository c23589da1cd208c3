#include "evals/sandbox/sandbox.hpp"

#include <gtest/gtest.h>

namespace nb::sandbox {
namespace {

TEST(Sandbox, TellsRightFromWrong) {
  const auto ability = probe();
  if (!ability) GTEST_SKIP() << ability.error().message;
  const auto right = run_python(*ability, "print('x' * 10)\nassert 1 + 1 == 2");
  ASSERT_TRUE(right) << right.error().message;
  EXPECT_EQ(right->outcome, Outcome::kPassed) << right->reason;
  EXPECT_EQ(right->out, "xxxxxxxxxx\n");
  const auto wrong = run_python(*ability, "assert 1 + 1 == 3, 'no'");
  ASSERT_TRUE(wrong) << wrong.error().message;
  EXPECT_EQ(wrong->outcome, Outcome::kFailed);
  EXPECT_EQ(wrong->reason, "AssertionError: no");
}

}  // namespace
}  // namespace nb::sandbox
