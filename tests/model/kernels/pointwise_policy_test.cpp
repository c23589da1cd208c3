// Eager and fused pointwise kernels differ in the bits where their definitions do, and nowhere
// else: worked out here by hand, in scalars.
#include <gtest/gtest.h>

#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/reference/vector_math.hpp"
#include "model/kernels/rotary.hpp"
#include "model/tensor/dtype.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

float bf16(float x) { return round_to(DType::kBf16, x); }

// Elements of kSize that differ between the two.
constexpr std::int64_t kSize = 512;
int count_differences(const test::Array& a, const test::Array& b) {
  int count = 0;
  for (std::int64_t i = 0; i < kSize; ++i) count += a.view().row(0)[i] != b.view().row(0)[i];
  return count;
}

TEST(PointwisePolicy, RotaryRoundsItsProductsOnlyWhenEager) {
  const test::Array x = test::random_array(1, kSize, 1, test::Values::kBf16);
  const test::Array cos = test::random_array(1, kSize / 2, 2, test::Values::kBf16);
  const test::Array sin = test::random_array(1, kSize / 2, 3, test::Values::kBf16);
  const RotaryShape shape = {.time = 1, .heads = 1, .head_dim = kSize};
  test::Array eager(1, kSize), fused(1, kSize);
  rotary(x.view(), eager.view(), cos.view(), sin.view(), shape, {DType::kBf16, true});
  rotary(x.view(), fused.view(), cos.view(), sin.view(), shape, {DType::kBf16, false});
  for (std::int64_t i = 0; i < kSize / 2; ++i) {
    const float left = x.view().row(0)[i] * cos.view().row(0)[i];
    const float right = x.view().row(0)[i + kSize / 2] * sin.view().row(0)[i];
    EXPECT_EQ(eager.view().row(0)[i], bf16(bf16(left) + bf16(right))) << i;
    EXPECT_EQ(fused.view().row(0)[i], bf16(left + right)) << i;
  }
  EXPECT_GT(count_differences(eager, fused), 0);
}

TEST(PointwisePolicy, SoftcapRoundsItsStepsOnlyWhenEager) {
  const test::Array x = test::random_array(1, kSize, 4, test::Values::kBf16);
  const CrossEntropySettings eager_settings = {.softcap = 15, .pointwise = {DType::kBf16, true}};
  const CrossEntropySettings fused_settings = {.softcap = 15, .pointwise = {DType::kBf16, false}};
  test::Array eager(1, kSize), fused(1, kSize);
  softcap(x.view(), eager.view(), eager_settings);
  softcap(x.view(), fused.view(), fused_settings);
  for (std::int64_t i = 0; i < kSize; ++i) {
    const float value = x.view().row(0)[i];
    EXPECT_EQ(eager.view().row(0)[i], bf16(bf16(reference::tanh(bf16(value / 15.0F))) * 15.0F))
        << value;
    EXPECT_EQ(fused.view().row(0)[i], bf16(reference::tanh(value / 15.0F) * 15.0F)) << value;
  }
  EXPECT_GT(count_differences(eager, fused), 0);
}

TEST(PointwisePolicy, InFp32NothingIsRoundedSoBothAgree) {
  const test::Array x = test::random_array(1, kSize, 5);
  test::Array eager(1, kSize), fused(1, kSize);
  softcap(x.view(), eager.view(), {.softcap = 15, .pointwise = {DType::kFp32, true}});
  softcap(x.view(), fused.view(), {.softcap = 15, .pointwise = {DType::kFp32, false}});
  EXPECT_EQ(count_differences(eager, fused), 0);
}

}  // namespace
}  // namespace nb::kernels
