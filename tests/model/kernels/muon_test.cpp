#include "model/kernels/reference/muon.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "model/kernels/reference/matmul.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::kFp32;
using test::Values;

TEST(Muon, MomentumEqualsItsDefinition) {
  const std::vector<float> g = test::random_vector(20003, 1, Values::kFinite),
                           start = test::random_vector(20003, 2);
  for (const DType state : {DType::kFp32, DType::kBf16, DType::kFp16, DType::kTf32, DType::kHf32}) {
    for (const bool nesterov : {true, false}) {
      std::vector<float> expected_buffer = start, expected(g.size());
      reference::muon_momentum(g, expected_buffer, expected, 0.95, state, nesterov);
      test::at_every_level([&] {
        std::vector<float> buffer = start, update = g;
        muon_momentum(update, buffer, update, 0.95, state, nesterov);
        EXPECT_TRUE(test::same_bits(buffer, expected_buffer)) << name(state);
        EXPECT_TRUE(test::same_bits(update, expected)) << name(state);
      });
    }
  }
}

// What a checkpoint cannot hold must not be in memory either.
TEST(Muon, MomentumIsRoundedInMemory) {
  const std::vector<float> g = {1.0f / 3.0f};
  std::vector<float> buffer = {0.7f}, update(1);
  muon_momentum(g, buffer, update, 0.95, DType::kBf16);
  EXPECT_EQ(buffer[0], round_to(DType::kBf16, buffer[0]));
  EXPECT_EQ(update[0], std::fma(0.95f, buffer[0], static_cast<float>(1 - 0.95) * g[0]));
}

TEST(Muon, NewtonSchulzEqualsItsDefinition) {
  for (const auto& [rows, cols] :
       {std::pair{1, 1}, std::pair{5, 5}, std::pair{16, 33}, std::pair{40, 17}}) {
    for (const PointwisePolicy& policy : test::pointwise_policies()) {
      NewtonSchulzSettings settings{.pointwise = policy};
      settings.matmul.inputs = settings.matmul.output = policy.storage;
      const Array x = test::random_array(rows, cols, 1);
      Array expected(rows, cols);
      reference::newton_schulz(x.view(), expected.view(), settings);
      test::at_every_level([&] {
        Array out(rows, cols);
        newton_schulz(x.view(), out.view(), settings);
        EXPECT_TRUE(test::same_bits(out, expected))
            << rows << "x" << cols << " " << test::text(policy);
      });
    }
  }
}

// With as many as threads take side by side, and with fewer.
TEST(Muon, NewtonSchulzOfManyIsThatOfEach) {
  NewtonSchulzSettings settings;
  for (const std::size_t count : {std::size_t{3}, std::size_t{17}}) {
    std::vector<Array> given, expected;
    for (std::size_t i = 0; i < count; ++i) {
      const auto size = static_cast<std::int64_t>(i);
      given.push_back(test::random_array(3 + size % 5 * 7, 40 - 2 * size, size + 1));
      expected.push_back(given[i]);
      reference::newton_schulz(given[i].view(), expected[i].view(), settings);
    }
    test::at_every_level([&] {
      std::vector<Array> all = given;
      std::vector<Matrix> matrices;
      for (Array& x : all) matrices.push_back(x.view());
      newton_schulz_all(matrices, settings);
      for (std::size_t i = 0; i < count; ++i) {
        EXPECT_TRUE(test::same_bits(all[i], expected[i])) << i << " of " << count;
      }
    });
  }
}

// The iteration drives the singular values into [0.5, 1.5] (docstring of
// zeropower_via_newtonschulz5), so XXᵀ is near I.
TEST(Muon, NewtonSchulzNearlyOrthogonalises) {
  const Array x = test::random_array(8, 64, 1);
  Array out(8, 64), gram(8, 8);
  newton_schulz(x.view(), out.view(), {.matmul = kFp32, .pointwise = {.storage = DType::kFp32}});
  reference::matmul_nt(out.view(), out.view(), gram.view(), kFp32);
  for (std::int64_t i = 0; i < 8; ++i) {
    for (std::int64_t j = 0; j < 8; ++j) {
      EXPECT_NEAR(gram.view().row(i)[j], i == j ? 0.95f : 0.0f, 0.55f) << i << "," << j;
    }
  }
}

TEST(Muon, UpdateEqualsItsDefinitionAndScalesTallMatrices) {
  for (const auto& [rows, cols] : {std::pair{1, 7}, std::pair{48, 12}, std::pair{12, 48}}) {
    const Array start = test::random_array(rows, cols, 1),
                update = test::random_array(rows, cols, 2);
    Array expected = start;
    reference::muon_update(expected.view(), update.view(), 0.02);
    test::at_every_level([&] {
      Array p = start;
      muon_update(p.view(), update.view(), 0.02);
      EXPECT_TRUE(test::same_bits(p, expected));
    });
  }
  float p[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  const float ones[4] = {1.0f, 1.0f, 1.0f, 1.0f};
  muon_update(matrix(p, 4, 1), matrix(ones, 4, 1), 0.25);
  EXPECT_EQ(p[0], 0.5f);  // sqrt(4 / 1) * 0.25
}

}  // namespace
}  // namespace nb::kernels
