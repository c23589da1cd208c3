#include "tests/model/kernels/kernel_case.hpp"

#include <fmt/core.h>

#include <array>
#include <bit>
#include <cmath>

#include "harness/base/parallel.hpp"
#include "harness/base/rng.hpp"
#include "model/tensor/dtype.hpp"

namespace nb::test {
namespace {

constexpr std::array kHard = {
    0.0f,        -0.0f,         0x1p-149f, -0x1.8p-130f, 0x1p-126f, -0x1p-56f,      0x1.ffp-57f,
    0x1.fep-57f, -0x1.fffp-57f, 0x1p-57f,  0x1.01p-56f,  1.0f,      -0x1.00fffep0f, 0x1.01p0f,
    65504.0f,    65519.99f,     1e30f,     -0x1.fep127f, INFINITY,  -INFINITY,      NAN};
constexpr std::size_t kFiniteHard = 18;

float draw(const Rng& rng, std::uint64_t i, Values values) {
  // Sums of uniforms: cheap and near enough to normal for tests.
  const auto ordinary = static_cast<float>(
      (rng.uniform(4 * i) + rng.uniform(4 * i + 1) + rng.uniform(4 * i + 2) - 1.5) * 2.0);
  if (values == Values::kBf16) return round_to(DType::kBf16, ordinary);
  if (values == Values::kOrdinary || rng.below(4 * i + 3, 8) != 0) return ordinary;
  const std::size_t count = values == Values::kFinite ? kFiniteHard : kHard.size();
  return kHard[rng.bits(4 * i + 3) % count];
}

}  // namespace

Array::Array(std::int64_t rows, std::int64_t cols, std::int64_t padding)
    : data_(static_cast<std::size_t>(rows * (cols + padding)), -7.0f),
      rows_(rows),
      cols_(cols),
      stride_(cols + padding) {}

Matrix Array::view() { return {data_.data(), rows_, cols_, stride_}; }
ConstMatrix Array::view() const { return {data_.data(), rows_, cols_, stride_}; }

Array random_array(std::int64_t rows, std::int64_t cols, std::uint64_t seed, Values values,
                   std::int64_t padding) {
  Array result(rows, cols, padding);
  const Rng rng(seed, "test");
  for (float& x : result.memory()) x = NAN;
  for (std::int64_t i = 0; i < rows; ++i) {
    for (std::int64_t j = 0; j < cols; ++j) {
      result.view().row(i)[j] = draw(rng, static_cast<std::uint64_t>(i * cols + j), values);
    }
  }
  return result;
}

std::vector<float> random_vector(std::size_t size, std::uint64_t seed, Values values) {
  std::vector<float> result(size);
  const Rng rng(seed, "test");
  for (std::size_t i = 0; i < size; ++i) result[i] = draw(rng, i, values);
  return result;
}

std::vector<int> random_ids(std::size_t size, int below, std::uint64_t seed) {
  std::vector<int> result(size);
  const Rng rng(seed, "test ids");
  for (std::size_t i = 0; i < size; ++i) {
    result[i] = static_cast<int>(rng.below(i, static_cast<std::uint64_t>(below)));
  }
  return result;
}

testing::AssertionResult same_bits(std::span<const float> actual, std::span<const float> expected) {
  if (actual.size() != expected.size()) {
    return testing::AssertionFailure() << actual.size() << " values, expected " << expected.size();
  }
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const auto a = std::bit_cast<std::uint32_t>(actual[i]);
    const auto e = std::bit_cast<std::uint32_t>(expected[i]);
    if (a == e || (std::isnan(actual[i]) && std::isnan(expected[i]))) continue;
    return testing::AssertionFailure() << fmt::format("index {}: {:08x} ({}), expected {:08x} ({})",
                                                      i, a, actual[i], e, expected[i]);
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult same_bits(const Array& actual, const Array& expected) {
  return same_bits(std::span<const float>(actual.data()), std::span<const float>(expected.data()));
}

void at_every_level(const std::function<void()>& body, std::initializer_list<int> thread_counts) {
  const SimdLevel before = simd_level();
  const int threads_before = threads();
  for (const SimdLevel level : available_levels()) {
    ASSERT_TRUE(set_simd_level(level).has_value());
    for (const int count : thread_counts) {
      set_threads(count);
      SCOPED_TRACE(fmt::format("level {}, {} threads", name(level), count));
      body();
    }
  }
  set_threads(threads_before);
  ASSERT_TRUE(set_simd_level(before).has_value());
}

std::vector<PointwisePolicy> pointwise_policies() {
  std::vector<PointwisePolicy> result;
  for (const DType storage : {DType::kFp32, DType::kBf16, DType::kFp16}) {
    for (const bool eager : {true, false}) result.push_back({.storage = storage, .eager = eager});
  }
  return result;
}

std::string text(const PointwisePolicy& policy) {
  return fmt::format("{} {}", name(policy.storage), policy.eager ? "eager" : "fused");
}

std::string text(const MatmulPolicy& policy) {
  return fmt::format("inputs {}, output {}, accumulation {} split {}", name(policy.inputs),
                     name(policy.output), static_cast<int>(policy.accumulation), policy.split_k);
}

}  // namespace nb::test
