#include "evals/base/text.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/evals/support/toy.hpp"

namespace nb {
namespace {

std::string utf8(std::uint32_t c) {
  const auto byte = [](std::uint32_t value) { return static_cast<char>(value); };
  if (c < 0x80) return {byte(c)};
  if (c < 0x800) return {byte(0xc0 | c >> 6), byte(0x80 | (c & 0x3f))};
  if (c < 0x10000)
    return {byte(0xe0 | c >> 12), byte(0x80 | (c >> 6 & 0x3f)), byte(0x80 | (c & 0x3f))};
  return {byte(0xf0 | c >> 18), byte(0x80 | (c >> 12 & 0x3f)), byte(0x80 | (c >> 6 & 0x3f)),
          byte(0x80 | (c & 0x3f))};
}

// The list comes from CPython (tests/golden/core_golden.py).
TEST(Strip, TakesExactlyPythonsWhiteSpace) {
  const auto spaces = test::core_golden().at("spaces").get<std::set<std::uint32_t>>();
  for (std::uint32_t c = 1; c < 0x20000; ++c) {
    if (c >= 0xd800 && c <= 0xdfff) continue;
    const std::string text = utf8(c) + "x" + utf8(c);
    EXPECT_EQ(strip(text), spaces.contains(c) ? "x" : text) << std::hex << c;
  }
}

TEST(Strip, LeavesTheInsideAndEmptiesBlanks) {
  EXPECT_EQ(strip(" \t a b \n"), "a b");
  EXPECT_EQ(strip(" \n\xe2\x80\x83 "), "");
  EXPECT_EQ(strip(""), "");
}

}  // namespace
}  // namespace nb
