#include "model/kernels/transpose.hpp"

#include <gtest/gtest.h>

#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::Values;

TEST(Transpose, EveryElementChangesPlacesWithItsBits) {
  for (const auto& [rows, cols] : {std::pair{1, 1},
                                   {1, 40},
                                   {40, 1},
                                   {15, 17},
                                   {16, 16},
                                   {33, 31},
                                   {64, 48},
                                   {70, 130},
                                   {200, 5}}) {
    SCOPED_TRACE(testing::Message() << rows << " x " << cols);
    const Array from = test::random_array(rows, cols, 1, Values::kNonFinite);
    Array expected(cols, rows);
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::int64_t j = 0; j < cols; ++j) expected.view().row(j)[i] = from.view().row(i)[j];
    }
    test::at_every_level([&] {
      Array to(cols, rows);
      transpose(from.view(), to.view());
      EXPECT_TRUE(test::same_bits(to, expected));
    });
  }
}

TEST(Transpose, WhatIsBelowTheDiagonalIsMirroredAndStays) {
  for (const std::int64_t n : {1, 2, 15, 16, 17, 32, 33, 64, 100}) {
    SCOPED_TRACE(testing::Message() << n);
    const Array before = test::random_array(n, n, 1, Values::kNonFinite);
    Array expected = before;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = i + 1; j < n; ++j) expected.view().row(i)[j] = before.view().row(j)[i];
    }
    test::at_every_level([&] {
      Array c = before;
      mirror_lower(c.view());
      EXPECT_TRUE(test::same_bits(c, expected));
    });
  }
}

}  // namespace
}  // namespace nb::kernels
