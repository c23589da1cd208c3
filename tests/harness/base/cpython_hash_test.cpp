#include "harness/base/cpython_hash.hpp"

#include <gtest/gtest.h>

namespace nb {
namespace {

// Printed by CPython 3.11: hash((0, 0, 0)) & 0x7FFFFFFF and hash((5, 8, 1)) & 0x7FFFFFFF.
TEST(CPythonHash, OfTuplesOfIntegers) {
  const auto low31 = [](std::vector<std::uint64_t> items) {
    return cpython_tuple_hash(items) & 0x7FFFFFFFU;
  };
  EXPECT_EQ(low31({0, 0, 0}), 360982090U);
  EXPECT_EQ(low31({5, 8, 1}), 1909068981U);
}

}  // namespace
}  // namespace nb
