#include "model/kernels/elementwise.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>

#include "harness/base/fs.hpp"
#include "model/kernels/reduce.hpp"
#include "model/kernels/reference/elementwise.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/kernels/residual.hpp"
#include "model/tensor/dtype.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::Values;

constexpr std::size_t kSizes[] = {1, 15, 16, 17, 100, 4095, 4096, 4097, 40000};

TEST(Residual, EqualsItsDefinition) {
  for (const DType storage : {DType::kFp32, DType::kBf16, DType::kFp16, DType::kTf32}) {
    for (const std::int64_t width : {1, 17, 2000}) {
      const Array a = test::random_array(20, width, 1, Values::kNonFinite);
      const Array b = test::random_array(20, width, 2, Values::kNonFinite);
      Array expected = a;
      reference::add(a.view(), b.view(), expected.view(), storage);
      test::at_every_level([&] {
        Array out = a;
        add(out.view(), b.view(), out.view(), storage);
        EXPECT_TRUE(test::same_bits(out, expected));
      });
    }
  }
}

TEST(ReluSquared, EqualsItsDefinition) {
  for (const DType storage : {DType::kFp32, DType::kBf16, DType::kFp16}) {
    for (const std::int64_t width : {1, 17, 2000}) {
      const Array x = test::random_array(20, width, 1, Values::kNonFinite);
      const Array dy = test::random_array(20, width, 2, Values::kNonFinite);
      Array expected(20, width), expected_dx(20, width);
      reference::relu_squared(x.view(), expected.view(), storage);
      reference::relu_squared_backward(dy.view(), x.view(), expected_dx.view(), storage);
      test::at_every_level([&] {
        Array out(20, width), dx(20, width);
        relu_squared(x.view(), out.view(), storage);
        relu_squared_backward(dy.view(), x.view(), dx.view(), storage);
        EXPECT_TRUE(test::same_bits(out, expected));
        EXPECT_TRUE(test::same_bits(dx, expected_dx));
      });
    }
  }
}

TEST(ReluSquared, KeepsNaNAndMakesNegativeZeroPositive) {
  const float x[] = {NAN, -0.0f, -3.0f, 3.0f};
  test::at_every_level([&] {
    float out[4];
    relu_squared(matrix(x, 1, 4), matrix(out, 1, 4), DType::kFp32);
    EXPECT_TRUE(std::isnan(out[0]));
    EXPECT_FALSE(std::signbit(out[1]));
    EXPECT_EQ(out[2], 0.0f);
    EXPECT_EQ(out[3], 9.0f);
  });
}

TEST(Elementwise, CastEqualsRoundToForEveryFormat) {
  const std::vector<float> x = test::random_vector(40001, 1, Values::kNonFinite);
  for (const DType dtype : {DType::kBf16, DType::kFp16, DType::kTf32, DType::kHf32}) {
    std::vector<float> expected = x;
    round_to(dtype, expected);
    test::at_every_level([&] {
      std::vector<float> y(x.size());
      cast(x, y, dtype);
      EXPECT_TRUE(test::same_bits(y, expected)) << name(dtype);
    });
  }
}

// Other tests take any NaN for any other; a checkpoint's hash does not. Groups of eight vectors and
// single ones.
TEST(Elementwise, ANaNThatIsRoundedToBf16IsTheCanonicalOne) {
  for (const std::uint32_t payload : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffaa5555u}) {
    for (const std::size_t place : {0u, 77u, 127u, 133u}) {
      std::vector<float> x(140, 1.0F);
      x[place] = std::bit_cast<float>(payload);
      test::at_every_level([&] {
        std::vector<float> y(x.size());
        cast(x, y, DType::kBf16);
        EXPECT_EQ(std::bit_cast<std::uint32_t>(y[place]),
                  std::bit_cast<std::uint32_t>(round_to(DType::kBf16, x[place])));
      });
    }
  }
}

TEST(Elementwise, FillAndScaleReachEveryElement) {
  for (const std::size_t size : kSizes) {
    test::at_every_level([&] {
      std::vector<float> x(size + 1, 5.0f);
      fill(std::span(x).first(size), 3.0f);
      scale(std::span(x).first(size), 0.5f);
      for (std::size_t i = 0; i < size; ++i) ASSERT_EQ(x[i], 1.5f);
      EXPECT_EQ(x[size], 5.0f);
    });
  }
}

TEST(Reduce, SumOfSquaresEqualsItsDefinition) {
  for (const std::size_t size : kSizes) {
    const std::vector<float> x = test::random_vector(size, 1);
    const double expected = reference::sum_of_squares(x);
    test::at_every_level([&] { EXPECT_EQ(sum_of_squares(x), expected) << size; });
  }
}

TEST(Reduce, AllFiniteSeesTheLastElement) {
  test::at_every_level([&] {
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      std::vector<float> x(20001, 1.0f);
      EXPECT_TRUE(all_finite(x));
      x.back() = bad;
      EXPECT_FALSE(all_finite(x));
    }
  });
}

TEST(AdamW, EqualsItsDefinition) {
  for (const auto denominator : {AdamWDenominator::kScaledStep, AdamWDenominator::kBiasCorrected}) {
    for (const auto& [dtype, eager] :
         {std::pair{DType::kFp32, false}, std::pair{DType::kFp32, true},
          std::pair{DType::kBf16, false}, std::pair{DType::kBf16, true}}) {
      for (const double decay : {0.0, 0.1}) {
        const AdamWSettings settings{.learning_rate = 0.02,
                                     .weight_decay = decay,
                                     .step = 3,
                                     .denominator = denominator,
                                     .parameter = dtype,
                                     .state = dtype,
                                     .eager = eager};
        const std::vector<float> p0 = test::random_vector(20011, 1),
                                 g = test::random_vector(20011, 2, Values::kFinite);
        std::vector<float> m0 = test::random_vector(20011, 3), v0 = test::random_vector(20011, 4);
        for (float& v : v0) v = std::fabs(v);
        std::vector<float> p1 = p0, m1 = m0, v1 = v0;
        reference::adamw(p1, g, m1, v1, settings);
        test::at_every_level([&] {
          std::vector<float> p = p0, m = m0, v = v0;
          adamw(p, g, m, v, settings);
          EXPECT_TRUE(test::same_bits(p, p1));
          EXPECT_TRUE(test::same_bits(m, m1));
          EXPECT_TRUE(test::same_bits(v, v1));
        });
      }
    }
  }
}

// tests/golden/adamw_eager.py: nanochat's nine kernels on a bf16 tensor in exact arithmetic.
TEST(AdamW, EagerRoundsAfterEveryKernelAsTheGoldenSays) {
  std::istringstream lines(read_file(NB_SOURCE_DIR "/tests/golden/adamw_eager.txt").value());
  std::string line;
  std::getline(lines, line);
  const auto number = [](const std::string& hex) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(std::stoul(hex, nullptr, 16)));
  };
  std::vector<float> p(1), m(1), v(1);
  int compared = 0, fused_differs = 0;
  int element = 0, step = 0;
  for (std::string hex[4]; lines >> element >> step >> hex[0] >> hex[1] >> hex[2] >> hex[3];) {
    if (step > 0) {
      AdamWSettings settings{.learning_rate = 0.15491933384829668,
                             .step = step,
                             .parameter = DType::kBf16,
                             .state = DType::kBf16};
      const std::vector<float> g = {number(hex[0])};
      std::vector<float> p1 = p, m1 = m, v1 = v;
      adamw(p1, g, m1, v1, settings);
      settings.eager = true;
      adamw(p, g, m, v, settings);
      EXPECT_EQ(p[0], number(hex[1])) << element << " step " << step;
      EXPECT_EQ(m[0], number(hex[2])) << element << " step " << step;
      EXPECT_EQ(v[0], number(hex[3])) << element << " step " << step;
      ++compared;
      fused_differs += p1 != p || m1 != m || v1 != v;
    }
    p[0] = number(hex[1]), m[0] = number(hex[2]), v[0] = number(hex[3]);
  }
  EXPECT_EQ(compared, 384);
  EXPECT_GT(fused_differs, 50);  // one rounding is another story
}

// By hand: step 1, m = (1-b1) g, v = (1-b2) g², both forms move by lr * sign(g) when eps is small.
TEST(AdamW, FirstStepMovesByTheLearningRate) {
  for (const auto denominator : {AdamWDenominator::kScaledStep, AdamWDenominator::kBiasCorrected}) {
    std::vector<float> p = {1.0f, 1.0f}, g = {0.5f, -2.0f}, m(2), v(2);
    adamw(p, g, m, v, {.learning_rate = 0.25, .denominator = denominator});
    EXPECT_NEAR(p[0], 0.75f, 1e-6f);
    EXPECT_NEAR(p[1], 1.25f, 1e-6f);
    EXPECT_FLOAT_EQ(m[0], 0.1f);
    EXPECT_FLOAT_EQ(v[1], 0.2f);
  }
}

}  // namespace
}  // namespace nb::kernels
