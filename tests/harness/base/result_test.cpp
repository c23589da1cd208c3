#include "harness/base/result.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace nb {
namespace {

Result<std::unique_ptr<int>> make(bool ok) {
  if (!ok) return run_error("no room");
  return std::make_unique<int>(7);
}
Result<int> through(bool ok) {
  NB_TRY(const auto pointer, make(ok));
  return *pointer;
}
Result<int> through_with_context(bool ok) {
  NB_TRY(const auto pointer, make(ok), "suite smoke");
  return *pointer;
}
Result<> check(bool ok) {
  NB_TRY_VOID(make(ok).map([](auto&&) {}), "outer");
  return {};
}

TEST(Result, TryGivesTheValue) { EXPECT_EQ(through(true).value(), 7); }

TEST(Result, TryPassesCodeAndMessageUp) {
  const auto result = through(false);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, ErrorCode::kRun);
  EXPECT_EQ(result.error().message, "no room");
}

TEST(Result, TryPutsTheContextFirst) {
  EXPECT_EQ(through_with_context(false).error().message, "suite smoke: no room");
  EXPECT_EQ(check(false).error().message, "outer: no room");
  EXPECT_TRUE(check(true).has_value());
}

TEST(Result, CodesAreTheExitCodesOfTheDesign) {
  EXPECT_EQ(static_cast<int>(ErrorCode::kBadInput), 64);
  EXPECT_EQ(static_cast<int>(ErrorCode::kRun), 4);
}

}  // namespace
}  // namespace nb
