#include "model/kernels/vector_math.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>

#include "harness/base/portable_math.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/reference/vector_math.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using Vector = void (*)(std::span<const float>, std::span<float>);

#if defined(__SANITIZE_ADDRESS__) || defined(__aarch64__)
constexpr std::uint32_t kPerBinade = 1 << 9;  // each instruction costs many
#else
constexpr std::uint32_t kPerBinade = 1 << 13;
#endif

// Of every binade of both signs, denormals, infinities and NaNs included: evenly spaced mantissas
// (an odd step, so that low bits vary) and its ends.
std::vector<float> dense_sample() {
  std::vector<float> x;
  constexpr std::uint32_t kMantissas = 1u << 23, kStep = kMantissas / kPerBinade - 1;
  for (std::uint32_t binade = 0; binade < 512; ++binade) {
    const std::uint32_t first = binade << 23;
    const auto add = [&](std::uint32_t mantissa) {
      x.push_back(std::bit_cast<float>(first + mantissa));
    };
    for (std::uint32_t mantissa = binade % kStep; mantissa < kMantissas; mantissa += kStep)
      add(mantissa);
    for (std::uint32_t k = 0; k < 8; ++k) add(k), add(kMantissas - 1 - k);
  }
  return x;
}

// Of the last place of the correctly rounded result, gradual underflow included.
double ulps(float actual, double exact) {
  const auto rounded = static_cast<float>(exact);
  if (std::isnan(rounded) || std::isinf(rounded) || rounded == 0.0f) {
    const bool same = std::isnan(rounded) ? std::isnan(actual) : actual == rounded;
    return same ? 0.0 : 1e9;
  }
  const double size = std::fabs(static_cast<double>(rounded));
  const double ulp = std::ldexp(1.0, std::max(std::ilogb(size) - 23, -149));
  return std::fabs(static_cast<double>(actual) - exact) / ulp;
}

struct Function {
  const char* name;
  Vector vector;
  float (*naive)(float);
  double (*exact)(double);
  double limit_ulp;
};
// A soft-cap of 1 is tanh: x / 1 and t * 1 are exact.
void softcap_of_one(std::span<const float> in, std::span<float> out) {
  const auto n = static_cast<std::int64_t>(in.size());
  CrossEntropySettings settings;
  settings.softcap = 1.0f;
  settings.pointwise.storage = DType::kFp32;
  softcap(matrix(in.data(), 1, n), matrix(out.data(), 1, n), settings);
}
// The exact values: double functions whose own error is 2^-28 of an fp32 ulp
// (portable_math_dense_test).
const Function kFunctions[] = {
    {"exp", exp, reference::exp, pm::exp, 0.988},
    {"log", log, reference::log, pm::log, 0.832},
    {"tanh", softcap_of_one, reference::tanh, pm::tanh, 1.331},
};

TEST(VectorMath, ErrorIsWithinWhatTheHeaderStates) {
  const std::vector<float> x = dense_sample();
  for (const Function& f : kFunctions) {
    std::vector<float> y(x.size());
    f.vector(x, y);
    double worst = 0.0;
    float at = 0.0f;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double error = ulps(y[i], f.exact(static_cast<double>(x[i])));
      if (error > worst) worst = error, at = x[i];
    }
    std::printf("  %-5s %zu arguments, at most %.4f ulp, at %a\n", f.name, x.size(), worst,
                static_cast<double>(at));
    EXPECT_LE(worst, f.limit_ulp) << f.name << " at " << at;
    // The statement is no wider than it must be.
    EXPECT_GE(worst, f.limit_ulp - 0.2) << f.name;
  }
}

TEST(VectorMath, EveryLevelEqualsTheDefinition) {
  const std::vector<float> all = dense_sample();
  std::vector<float> x;
  for (std::size_t i = 0; i < all.size(); i += 19) x.push_back(all[i]);
  for (const Function& f : kFunctions) {
    std::vector<float> expected(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) expected[i] = f.naive(x[i]);
    test::at_every_level([&] {
      std::vector<float> y(x.size());
      f.vector(x, y);
      EXPECT_TRUE(test::same_bits(y, expected)) << f.name;
    });
  }
}

TEST(VectorMath, EdgesAreWhatTheHeaderStates) {
  EXPECT_EQ(exp(0.0f), 1.0f);
  EXPECT_EQ(exp(-INFINITY), 0.0f);
  EXPECT_EQ(exp(INFINITY), INFINITY);
  EXPECT_EQ(exp(88.73f), INFINITY);
  EXPECT_EQ(exp(-103.0f), 0x1p-149f);  // e^-103 = 1.87e-45 lies nearest 2^-149 = 1.40e-45
  EXPECT_EQ(log(1.0f), 0.0f);
  EXPECT_EQ(log(-0.0f), -INFINITY);
  EXPECT_EQ(log(INFINITY), INFINITY);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(log(-1.0f)), 0x7fc00000u);
  const auto of_one = [](const Function& f, float x) {
    f.vector({&x, 1}, {&x, 1});
    return x;
  };
  const Function& tanh = kFunctions[2];
  EXPECT_TRUE(std::signbit(of_one(tanh, -0.0f)));
  EXPECT_EQ(of_one(tanh, -INFINITY), -1.0f);
  for (const Function& f : kFunctions) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(of_one(f, std::bit_cast<float>(0xffc12345u))),
              0x7fc00000u)
        << f.name;
  }
}

}  // namespace
}  // namespace nb::kernels
