// silu and multiply against their formula, element by element, at every level.
#include "model/kernels/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "model/kernels/broadcast.hpp"
#include "model/kernels/simd_level.hpp"
#include "model/kernels/vector_math.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

std::vector<float> values(std::int64_t count) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> all = {0.0f, -0.0f, 1e-42f, -1e-42f, 100.0f, -100.0f, 88.8f, -88.8f, inf};
  for (std::int64_t i = 0; std::ssize(all) < count; ++i)
    all.push_back(static_cast<float>((i * 37) % 101 - 50) * 0.173f);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

using test::same_bits;

TEST(Activation, SiluAndProductsEqualTheFormulaAtEveryLevel) {
  const SimdLevel before = simd_level();
  for (const SimdLevel level : available_levels()) {
    ASSERT_TRUE(set_simd_level(level));
    for (const DType storage : {DType::kFp32, DType::kBf16}) {
      for (const std::int64_t cols : {1, 15, 16, 17, 1024, 1025}) {
        const std::vector<float> a = values(3 * cols), gain = values(cols);
        std::vector<float> silus(a.size()), products(a.size()), gained(a.size());
        std::vector<float> got = a;
        for (std::size_t i = 0; i < a.size(); ++i) {
          silus[i] = round_to(storage, a[i] / (1.0f + exp(-a[i])));
          products[i] = round_to(storage, a[i] * silus[i]);
          gained[i] = round_to(storage, a[i] * gain[i % static_cast<std::size_t>(cols)]);
        }
        silu(matrix(a.data(), 3, cols), matrix(got.data(), 3, cols), storage);
        EXPECT_TRUE(same_bits(got, silus)) << name(level) << " " << cols;
        multiply(matrix(a.data(), 3, cols), matrix(silus.data(), 3, cols),
                 matrix(got.data(), 3, cols), storage);
        EXPECT_TRUE(same_bits(got, products)) << name(level) << " " << cols;
        multiply(matrix(a.data(), 3, cols), matrix(gain.data(), 1, cols),
                 matrix(got.data(), 3, cols), storage);
        EXPECT_TRUE(same_bits(got, gained)) << name(level) << " " << cols;
      }
    }
  }
  ASSERT_TRUE(set_simd_level(before));
}

}  // namespace
}  // namespace nb::kernels
