// Kernels over whole arrays at every level and size: casts, sums, vector functions, AdamW; and
// Muon's matrices.
#include <gtest/gtest.h>

#include <cmath>

#include "model/kernels/elementwise.hpp"
#include "model/kernels/muon.hpp"
#include "model/kernels/reduce.hpp"
#include "model/kernels/reference/elementwise.hpp"
#include "model/kernels/reference/muon.hpp"
#include "model/kernels/reference/vector_math.hpp"
#include "model/kernels/vector_math.hpp"
#include "model/tensor/dtype.hpp"
#include "tests/model/kernels/shapes/edges.hpp"
#include "tests/model/kernels/shapes/lists.hpp"

namespace nb::kernels {
namespace {

using test::Array;

constexpr DType kFormats[] = {DType::kFp32, DType::kBf16, DType::kFp16, DType::kTf32, DType::kHf32};

TEST(FlatSizes, CastsSumsAndVectorFunctionsEqualTheirDefinitions) {
  struct Function {
    const char* name;
    void (*fast)(std::span<const float>, std::span<float>);
    float (*naive)(float);
  };
  const Function functions[] = {{"exp", exp, reference::exp}, {"log", log, reference::log}};
  std::size_t turn = 0;
  for (const std::size_t size : test::thinned(test::flat_sizes())) {
    for (int i = 0; i < 5; ++i, turn += 7) {
      const std::vector<float> x = test::edged_vector(size, 1, turn);
      const DType format = kFormats[turn % 5];
      std::vector<float> rounded = x, scaled = x;
      for (float& value : rounded) value = round_to(format, value);
      for (float& value : scaled) value *= 0.37f;
      std::vector<std::vector<float>> values;
      for (const Function& f : functions) {
        values.push_back(x);
        for (float& value : values.back()) value = f.naive(value);
      }
      const std::vector<float> finite = test::random_vector(size, 2, test::Values::kOrdinary);
      const double squares = reference::sum_of_squares(finite);
      double in_order = 0;
      for (const float value : finite) in_order += static_cast<double>(value);
      test::at_every_level([&] {
        std::vector<float> y(size);
        cast(x, y, format);
        EXPECT_TRUE(test::same_bits(y, rounded)) << "cast " << name(format) << " " << size;
        y = x;
        scale(y, 0.37f);
        EXPECT_TRUE(test::same_bits(y, scaled)) << "scale " << size;
        for (std::size_t f = 0; f < std::size(functions); ++f) {
          functions[f].fast(x, y);
          EXPECT_TRUE(test::same_bits(y, values[f])) << functions[f].name << " " << size;
        }
        EXPECT_EQ(sum_of_squares(finite), squares) << size;
        EXPECT_EQ(sum_in_order(finite), in_order) << size;
        EXPECT_TRUE(all_finite(finite));
        fill(y, -0.0f);
        for (const float value : y) ASSERT_TRUE(value == 0.0f && std::signbit(value));
      });
      if (HasFailure()) return;
    }
  }
}

TEST(FlatSizes, AllFiniteSeesABadValueAtEveryEdgePlace) {
  for (const std::size_t size : test::thinned(test::flat_sizes())) {
    for (const std::int64_t place : test::edge_places(static_cast<std::int64_t>(size))) {
      std::vector<float> x(size, 0x1.fffffep127f);
      for (const float bad : {INFINITY, -INFINITY, NAN}) {
        x[static_cast<std::size_t>(place)] = bad;
        test::at_every_level([&] { EXPECT_FALSE(all_finite(x)) << size << " at " << place; });
      }
    }
  }
}

TEST(FlatSizes, SumOfSquaresKeepsInfinityAndNaN) {
  for (const std::size_t size : {std::size_t{1}, std::size_t{17}, std::size_t{4097}}) {
    for (const float edge : test::edge_values()) {
      std::vector<float> x = test::random_vector(size, 1);
      x.back() = edge;
      const double expected = reference::sum_of_squares(x);
      test::at_every_level([&] {
        const double actual = sum_of_squares(x);
        EXPECT_TRUE(actual == expected || (std::isnan(actual) && std::isnan(expected)))
            << size << ": " << edge;
      });
    }
  }
}

TEST(FlatSizes, OptimizersEqualTheirDefinitions) {
  std::size_t turn = 0;
  for (const std::size_t size : test::thinned(test::flat_sizes())) {
    for (const auto denominator :
         {AdamWDenominator::kScaledStep, AdamWDenominator::kBiasCorrected}) {
      const DType dtype = turn % 3 == 0 ? DType::kBf16 : DType::kFp32;
      const AdamWSettings settings{.learning_rate = 0.02,
                                   .weight_decay = turn % 2 == 0 ? 0.0 : 0.1,
                                   .step = 1 + static_cast<std::int64_t>(turn),
                                   .denominator = denominator,
                                   .parameter = dtype,
                                   .state = dtype,
                                   .eager = turn % 5 < 3};
      const std::vector<float> p0 = test::edged_vector(size, 1, turn),
                               g = test::edged_vector(size, 2, turn + 11);
      std::vector<float> m0 = test::edged_vector(size, 3, turn + 23),
                         v0 = test::random_vector(size, 4);
      for (float& v : v0) v = std::fabs(v);
      if (size > 2) v0[1] = 0.0f, v0.back() = 0x1p-149f;
      std::vector<float> p1 = p0, m1 = m0, v1 = v0, buffer1 = m0, update1(size);
      reference::adamw(p1, g, m1, v1, settings);
      const bool nesterov = turn++ % 4 != 0;
      reference::muon_momentum(g, buffer1, update1, 0.95, dtype, nesterov);
      test::at_every_level([&] {
        std::vector<float> p = p0, m = m0, v = v0, buffer = m0, update(size);
        adamw(p, g, m, v, settings);
        EXPECT_TRUE(test::same_bits(p, p1)) << "p " << size;
        EXPECT_TRUE(test::same_bits(m, m1)) << "m " << size;
        EXPECT_TRUE(test::same_bits(v, v1)) << "v " << size;
        muon_momentum(g, buffer, update, 0.95, dtype, nesterov);
        EXPECT_TRUE(test::same_bits(buffer, buffer1)) << "buffer " << size;
        EXPECT_TRUE(test::same_bits(update, update1)) << "update " << size;
      });
      if (HasFailure()) return;
    }
  }
}

TEST(MuonShapes, NewtonSchulzAndTheUpdateEqualTheirDefinitions) {
  std::size_t turn = 0;
  for (const test::RowShape& s : test::thinned(test::muon_shapes())) {
    for (const PointwisePolicy& policy : test::pointwise_policies()) {
      NewtonSchulzSettings settings{.pointwise = policy};
      settings.matmul.inputs = settings.matmul.output = policy.storage;
      const Array x = turn % 2 == 0 ? test::random_array(s.rows, s.cols, 1)
                                    : test::edged_array(s.rows, s.cols, 1, turn);
      ++turn;
      const Array start = test::random_array(s.rows, s.cols, 2);
      Array expected(s.rows, s.cols), expected_parameter = start;
      reference::newton_schulz(x.view(), expected.view(), settings);
      reference::muon_update(expected_parameter.view(), x.view(), 0.02);
      test::at_every_level([&] {
        Array out(s.rows, s.cols), parameter = start;
        newton_schulz(x.view(), out.view(), settings);
        EXPECT_TRUE(test::same_bits(out, expected))
            << s.rows << " x " << s.cols << " " << test::text(policy);
        muon_update(parameter.view(), x.view(), 0.02);
        EXPECT_TRUE(test::same_bits(parameter, expected_parameter)) << s.rows << " x " << s.cols;
      });
      if (HasFailure()) return;
    }
  }
}

// Zeros, and one tiny value: the norm's 1e-7 and the floor decide.
TEST(MuonShapes, NewtonSchulzOfNothingAndNextToNothing) {
  for (const float value : {0.0f, -0.0f, 0x1p-149f, 0x1p-56f, 0x1p-30f}) {
    Array x(6, 20), expected(6, 20);
    for (std::int64_t i = 0; i < 6; ++i)
      for (std::int64_t j = 0; j < 20; ++j) x.view().row(i)[j] = 0.0f;
    x.view().row(5)[19] = value;
    for (const PointwisePolicy& policy : test::pointwise_policies()) {
      NewtonSchulzSettings settings{.pointwise = policy};
      settings.matmul.inputs = settings.matmul.output = policy.storage;
      reference::newton_schulz(x.view(), expected.view(), settings);
      test::at_every_level([&] {
        Array out(6, 20);
        newton_schulz(x.view(), out.view(), settings);
        EXPECT_TRUE(test::same_bits(out, expected)) << value << " " << test::text(policy);
      });
    }
  }
}

}  // namespace
}  // namespace nb::kernels
