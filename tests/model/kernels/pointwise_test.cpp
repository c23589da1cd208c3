// Activations, products and sums with vectors, layer norm, slices and dropout against their naive
// definitions, at every level, with operands in place where that is allowed.
#include "model/kernels/reference/pointwise.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "model/kernels/slices.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::kStorages;
using test::same_bits;
using test::Values;

// Around the lanes, a block of columns of a sum, and the columns that exp takes at once.
constexpr std::int64_t kPointwiseWidths[] = {1, 15, 16, 17, 63, 64, 65, 130, 1024, 1025};
constexpr std::int64_t kPointwiseRows = 7;

// body(x, dy, storage) of every storage format and width.
template <class Body>
void each_case(const Body& body) {
  for (const DType storage : kStorages) {
    for (const std::int64_t width : kPointwiseWidths) {
      SCOPED_TRACE(std::string(name(storage)) + " " + std::to_string(width));
      body(test::random_array(kPointwiseRows, width, 1, Values::kNonFinite),
           test::random_array(kPointwiseRows, width, 2, Values::kNonFinite), storage);
    }
  }
}

// Sums are compared where no order makes a NaN of infinities: of finite operands.
template <class Body>
void each_sum(const Body& body) {
  for (const PointwisePolicy& policy : test::pointwise_policies()) {
    for (const std::int64_t width : kPointwiseWidths) {
      SCOPED_TRACE(test::text(policy) + " " + std::to_string(width));
      body(test::random_array(kPointwiseRows, width, 1),
           test::random_array(kPointwiseRows, width, 2), policy);
    }
  }
}

TEST(Activation, EqualsItsDefinition) {
  using OfOne = void (*)(ConstMatrix, Matrix, DType);
  constexpr std::pair<OfOne, OfOne> kKernels[] = {
      {silu, reference::silu}, {sigmoid, reference::sigmoid}, {gelu, reference::gelu}};
  each_case([&](const Array& x, const Array&, DType storage) {
    for (const auto& [fast, naive] : kKernels) {
      Array expected = x;
      naive(x.view(), expected.view(), storage);
      test::at_every_level([&] {
        Array out = x;
        fast(out.view(), out.view(), storage);
        EXPECT_TRUE(same_bits(out, expected)) << "kernel " << &fast - &kKernels[0].first;
      });
    }
  });
}

TEST(Activation, BackwardEqualsItsDefinition) {
  using OfTwo = void (*)(ConstMatrix, ConstMatrix, Matrix, DType);
  constexpr std::pair<OfTwo, OfTwo> kKernels[] = {{silu_backward, reference::silu_backward},
                                                  {sigmoid_backward, reference::sigmoid_backward},
                                                  {gelu_backward, reference::gelu_backward}};
  each_case([&](const Array& x, const Array& dy, DType storage) {
    for (const auto& [fast, naive] : kKernels) {
      Array expected = x;
      naive(dy.view(), x.view(), expected.view(), storage);
      test::at_every_level([&] {
        Array dx = dy;
        fast(dx.view(), x.view(), dx.view(), storage);
        EXPECT_TRUE(same_bits(dx, expected));
      });
    }
  });
}

TEST(Activation, HasTheValuesOfItsFormula) {
  const std::vector<float> x = {0.0f, -0.0f, 1.0f, -1.0f, 30.0f, -30.0f, 100.0f, -100.0f};
  std::vector<float> y(x.size());
  const auto of = [&](void (*kernel)(ConstMatrix, Matrix, DType)) {
    kernel(matrix(x.data(), 1, 8), matrix(y.data(), 1, 8), DType::kFp32);
  };
  of(sigmoid);
  for (const std::size_t i : {0U, 1U}) EXPECT_EQ(y[i], 0.5f);
  EXPECT_NEAR(y[2], 0.7310586f, 1e-7);
  EXPECT_EQ(y[6], 1.0f);
  EXPECT_EQ(y[7], 0.0f);
  of(silu);
  EXPECT_NEAR(y[3], -0.2689414f, 1e-7);
  EXPECT_EQ(y[6], 100.0f);
  of(gelu);
  EXPECT_NEAR(y[2], 0.8411920f, 2e-7);  // torch.nn.functional.gelu(approximate="tanh")
  EXPECT_NEAR(y[3], -0.1588080f, 2e-7);
  EXPECT_EQ(y[4], 30.0f);
  EXPECT_EQ(y[5], 0.0f);
}

TEST(Broadcast, ProductsAndSumsEqualTheirDefinitions) {
  each_case([&](const Array& a, const Array& b, DType storage) {
    const Array row = test::random_array(1, b.view().cols, 3, Values::kNonFinite);
    Array product = a, gained = a, sum = a, scaled = a;
    reference::multiply(a.view(), b.view(), product.view(), storage);
    reference::multiply(a.view(), row.view(), gained.view(), storage);
    reference::add_bias(a.view(), row.view(), sum.view(), storage);
    reference::scale(a.view(), 0.37f, scaled.view(), storage);
    test::at_every_level([&] {
      const auto in_place = [&](const auto& kernel) {
        Array out = a;
        kernel(out.view());
        return out;
      };
      EXPECT_TRUE(
          same_bits(in_place([&](Matrix x) { multiply(x, b.view(), x, storage); }), product));
      EXPECT_TRUE(
          same_bits(in_place([&](Matrix x) { multiply(x, row.view(), x, storage); }), gained));
      EXPECT_TRUE(same_bits(in_place([&](Matrix x) { add_bias(x, row.view(), x, storage); }), sum));
      EXPECT_TRUE(same_bits(in_place([&](Matrix x) { scale(x, 0.37f, x, storage); }), scaled));
    });
  });
}

// What a gradient comes to: a new one, and one that is added to; in fp32 and in bf16.
template <class Gradient>
void check_gradient(std::int64_t size, const Gradient& fast, const Gradient& naive) {
  for (const DType dtype : {DType::kFp32, DType::kBf16}) {
    for (const bool accumulate : {false, true}) {
      const std::vector<float> before =
          test::random_vector(static_cast<std::size_t>(size), 5, Values::kBf16);
      std::vector<float> expected = before;
      naive({expected, dtype, accumulate});
      test::at_every_level([&] {
        std::vector<float> got = before;
        fast({got, dtype, accumulate});
        EXPECT_TRUE(same_bits(got, expected)) << name(dtype) << accumulate;
      });
    }
  }
}
using Gradient = std::function<void(const ParameterGradient&)>;

TEST(Broadcast, GradientsOfVectorsEqualTheirDefinitions) {
  each_sum([&](const Array& x, const Array& dy, const PointwisePolicy& policy) {
    check_gradient<Gradient>(
        x.view().cols,
        [&](const ParameterGradient& d) { gain_gradient(dy.view(), x.view(), d, policy); },
        [&](const ParameterGradient& d) {
          reference::gain_gradient(dy.view(), x.view(), d, policy);
        });
    check_gradient<Gradient>(
        x.view().cols, [&](const ParameterGradient& d) { bias_gradient(dy.view(), d, policy); },
        [&](const ParameterGradient& d) { reference::bias_gradient(dy.view(), d, policy); });
    check_gradient<Gradient>(
        1, [&](const ParameterGradient& d) { factor_gradient(dy.view(), x.view(), d, policy); },
        [&](const ParameterGradient& d) {
          reference::factor_gradient(dy.view(), x.view(), d, policy);
        });
  });
}

TEST(Broadcast, GatesOfHeadsEqualTheirDefinition) {
  for (const PointwisePolicy& policy : test::pointwise_policies()) {
    for (const std::int64_t head_dim : {1, 15, 16, 64, 65}) {
      for (const std::int64_t heads : {1, 3}) {
        SCOPED_TRACE(test::text(policy) + " " + std::to_string(head_dim));
        const Array x = test::random_array(kPointwiseRows, heads * head_dim, 1);
        const Array dy = test::random_array(kPointwiseRows, heads * head_dim, 2);
        const Array gate = test::random_array(kPointwiseRows, heads, 3);
        Array expected = x, expected_gate = gate;
        reference::gate_heads(x.view(), gate.view(), expected.view(), policy.storage);
        reference::gate_heads_gradient(dy.view(), x.view(), expected_gate.view(), policy);
        test::at_every_level([&] {
          Array y = x, dgate = gate;
          gate_heads(y.view(), gate.view(), y.view(), policy.storage);
          gate_heads_gradient(dy.view(), x.view(), dgate.view(), policy);
          EXPECT_TRUE(same_bits(y, expected));
          EXPECT_TRUE(same_bits(dgate, expected_gate));
        });
      }
    }
  }
}

TEST(LayerNorm, EqualsItsDefinition) {
  for (const DType storage : kStorages) {
    for (const std::int64_t width : kPointwiseWidths) {
      SCOPED_TRACE(std::string(name(storage)) + " " + std::to_string(width));
      const auto size = static_cast<std::size_t>(width);
      const Array x = test::random_array(kPointwiseRows, width, 1);
      const Array dy = test::random_array(kPointwiseRows, width, 2);
      const std::vector<float> gain = test::random_vector(size, 3);
      const std::vector<float> bias = test::random_vector(size, 4);
      struct Outcome {
        Array y, dx;
        std::vector<float> mean = std::vector<float>(kPointwiseRows), rstd = mean, dgain = mean,
                           dbias = mean;
      };
      Outcome expected = {x, dy};
      expected.dgain = expected.dbias = gain;
      reference::layer_norm(x.view(), gain, bias, expected.y.view(), expected.mean, expected.rstd,
                            storage, 1e-5f);
      reference::layer_norm_backward(dy.view(), x.view(), gain, expected.mean, expected.rstd,
                                     expected.dx.view(), storage);
      reference::layer_norm_weights_gradient(dy.view(), x.view(), expected.mean, expected.rstd,
                                             {expected.dgain, DType::kFp32, true},
                                             {expected.dbias, DType::kFp32, false});
      test::at_every_level([&] {
        Outcome got = {x, dy};
        got.dgain = got.dbias = gain;
        layer_norm(got.y.view(), gain, bias, got.y.view(), got.mean, got.rstd, storage, 1e-5f);
        layer_norm_backward(got.dx.view(), x.view(), gain, got.mean, got.rstd, got.dx.view(),
                            storage);
        layer_norm_weights_gradient(dy.view(), x.view(), got.mean, got.rstd, {},
                                    {got.dbias, DType::kFp32, false});
        layer_norm_weights_gradient(dy.view(), x.view(), got.mean, got.rstd,
                                    {got.dgain, DType::kFp32, true}, {});
        EXPECT_TRUE(same_bits(got.y, expected.y));
        EXPECT_TRUE(same_bits(got.dx, expected.dx));
        EXPECT_TRUE(same_bits(got.mean, expected.mean));
        EXPECT_TRUE(same_bits(got.rstd, expected.rstd));
        EXPECT_TRUE(same_bits(got.dgain, expected.dgain));
        EXPECT_TRUE(same_bits(got.dbias, expected.dbias));
        Array without = x;
        layer_norm(x.view(), gain, bias, without.view(), {}, {}, storage, 1e-5f);
        EXPECT_TRUE(same_bits(without, expected.y));
        Array near = x, expected_near = x;
        layer_norm(x.view(), gain, bias, near.view(), {}, {}, storage, 1e-5f, Rsqrt::kApproximate);
        reference::layer_norm(x.view(), gain, bias, expected_near.view(), {}, {}, storage, 1e-5f,
                              Rsqrt::kApproximate);
        EXPECT_TRUE(same_bits(near, expected_near));
      });
    }
  }
}

TEST(Slices, AreWhereTheyShouldBe) {
  const Array x = test::random_array(6, 5, 1, Values::kNonFinite);
  test::at_every_level([&] {
    Array first(6, 2), back(6, 5), later(6, 5), earlier(6, 5);
    first_columns(x.view(), first.view());
    first_columns_backward(first.view(), back.view());
    previous_rows(x.view(), 3, later.view());
    previous_rows_backward(x.view(), 3, earlier.view());
    for (std::int64_t i = 0; i < 6; ++i) {
      const auto row = [](const Array& a, std::int64_t at, std::size_t cols) {
        return std::vector<float>(a.view().row(at), a.view().row(at) + cols);
      };
      EXPECT_TRUE(same_bits(row(first, i, 2), row(x, i, 2))) << i;
      std::vector<float> padded = row(x, i, 5);
      std::fill(padded.begin() + 2, padded.end(), 0.0f);
      EXPECT_TRUE(same_bits(row(back, i, 5), padded)) << i;
      const std::vector<float> zeros(5);
      EXPECT_TRUE(same_bits(row(later, i, 5), i % 3 == 0 ? zeros : row(x, i - 1, 5))) << i;
      EXPECT_TRUE(same_bits(row(earlier, i, 5), i % 3 == 2 ? zeros : row(x, i + 1, 5))) << i;
    }
  });
}

TEST(Dropout, EqualsItsDefinitionInPlaceAndWithAnyThreads) {
  const Rng rng(3, "dropout of a test", 4);
  each_case([&](const Array& x, const Array&, DType storage) {
    Array expected = x;
    reference::dropout(x.view(), 0.4, rng, expected.view(), storage);
    test::at_every_level([&] {
      Array out = x;
      dropout(out.view(), 0.4, rng, out.view(), storage);
      EXPECT_TRUE(same_bits(out, expected));
    });
  });
}

TEST(Dropout, KeepsTheMeanAndDrawsAnewForEachPurposeAndStep) {
  constexpr std::int64_t kCount = 1 << 16;
  const std::vector<float> ones(kCount, 1.0f);
  const auto dropped = [&](const Rng& rng) {
    std::vector<float> out(kCount);
    dropout(matrix(ones.data(), 64, kCount / 64), 0.25, rng, matrix(out.data(), 64, kCount / 64),
            DType::kFp32);
    return out;
  };
  const std::vector<float> one = dropped(Rng(1, "a", 0));
  const auto gone = std::ranges::count(one, 0.0f);
  // Binomial: four standard deviations of sqrt(n p (1 - p)).
  EXPECT_NEAR(static_cast<double>(gone), 0.25 * kCount, 4 * std::sqrt(kCount * 0.25 * 0.75));
  EXPECT_EQ(std::ranges::count(one, static_cast<float>(1 / 0.75)), kCount - gone);
  EXPECT_EQ(dropped(Rng(1, "a", 0)), one);
  EXPECT_NE(dropped(Rng(1, "b", 0)), one);
  EXPECT_NE(dropped(Rng(1, "a", 1)), one);
}

TEST(Pointwise, WrongShapesFailTheCheck) {
  Array x(4, 6), y(4, 5), gate(4, 4);
  std::vector<float> five(5), six(6), four(4);
  const DType bf16 = DType::kBf16;
  EXPECT_THROW(silu(x.view(), y.view(), bf16), CheckFailure);
  EXPECT_THROW(gelu_backward(x.view(), y.view(), x.view(), bf16), CheckFailure);
  EXPECT_THROW(sigmoid_backward(x.view(), y.view(), x.view(), bf16), CheckFailure);
  EXPECT_THROW(multiply(x.view(), y.view(), x.view(), bf16), CheckFailure);
  EXPECT_THROW(add_bias(x.view(), x.view(), x.view(), bf16), CheckFailure);
  EXPECT_THROW(scale(x.view(), 1, y.view(), bf16), CheckFailure);
  EXPECT_THROW(gain_gradient(x.view(), y.view(), {six}, {}), CheckFailure);
  EXPECT_THROW(gain_gradient(x.view(), x.view(), {five}, {}), CheckFailure);
  EXPECT_THROW(bias_gradient(x.view(), {five}, {}), CheckFailure);
  EXPECT_THROW(factor_gradient(x.view(), x.view(), {five}, {}), CheckFailure);
  EXPECT_THROW(gate_heads(x.view(), gate.view(), x.view(), bf16), CheckFailure);
  EXPECT_THROW(gate_heads_gradient(x.view(), x.view(), gate.view(), {}), CheckFailure);
  EXPECT_THROW(layer_norm(x.view(), six, five, x.view(), {}, {}, bf16, 0), CheckFailure);
  EXPECT_THROW(layer_norm(x.view(), six, six, x.view(), five, {}, bf16, 0), CheckFailure);
  EXPECT_THROW(layer_norm_backward(x.view(), x.view(), five, four, four, x.view(), bf16),
               CheckFailure);
  EXPECT_THROW(layer_norm_backward(x.view(), x.view(), six, four, five, x.view(), bf16),
               CheckFailure);
  EXPECT_THROW(layer_norm_weights_gradient(x.view(), x.view(), four, five, {six}, {}),
               CheckFailure);
  EXPECT_THROW(first_columns(y.view(), x.view()), CheckFailure);
  EXPECT_THROW(previous_rows(x.view(), 3, x.view()), CheckFailure);
  EXPECT_THROW(dropout(x.view(), 1, Rng(1, "a"), x.view(), bf16), CheckFailure);
}

}  // namespace
}  // namespace nb::kernels
