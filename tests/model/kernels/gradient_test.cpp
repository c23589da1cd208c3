// Every backward against central differences of its forward, in fp32 without rounding to a narrower
// format. The difference quotient errs by about h² f''' / 6 + eps |f| / h; with h = 1e-2 and f of
// order 1 that is a few 1e-4 relative to the largest gradient.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "model/kernels/attention.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/embedding.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/kernels/rotary.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::kFp32;

constexpr double kDifference = 1e-2;
constexpr double kTolerance = 2e-3;

// Σ weights · out, in double: a scalar whose gradient with respect to out is `weights`.
double weighted(const Array& out, const Array& weights) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < out.view().rows; ++i) {
    for (std::int64_t j = 0; j < out.view().cols; ++j) {
      sum +=
          static_cast<double>(out.view().row(i)[j]) * static_cast<double>(weights.view().row(i)[j]);
    }
  }
  return sum;
}

void expect_gradient(Array x, const Array& gradient, const std::function<double(const Array&)>& f) {
  double largest = 0.0;
  for (std::int64_t i = 0; i < x.view().rows; ++i) {
    for (std::int64_t j = 0; j < x.view().cols; ++j) {
      largest = std::max(largest, std::fabs(static_cast<double>(gradient.view().row(i)[j])));
    }
  }
  ASSERT_GT(largest, 0.0);
  for (std::int64_t i = 0; i < x.view().rows; ++i) {
    for (std::int64_t j = 0; j < x.view().cols; ++j) {
      float& cell = x.view().row(i)[j];
      const float before = cell;
      cell = before + static_cast<float>(kDifference);
      const double above = f(x), up = cell;
      cell = before - static_cast<float>(kDifference);
      const double below = f(x), down = cell;
      cell = before;
      EXPECT_NEAR(static_cast<double>(gradient.view().row(i)[j]), (above - below) / (up - down),
                  kTolerance * largest)
          << "row " << i << " column " << j;
    }
  }
}

TEST(Gradient, OfRmsNorm) {
  const Array x = test::random_array(3, 19, 1), dy = test::random_array(3, 19, 2);
  const auto forward = [&](const Array& in) {
    Array out(3, 19);
    rms_norm(in.view(), out.view(), {}, DType::kFp32);
    return weighted(out, dy);
  };
  Array out(3, 19), dx(3, 19);
  std::vector<float> rstd(3);
  rms_norm(x.view(), out.view(), rstd, DType::kFp32);
  rms_norm_backward(dy.view(), x.view(), rstd, dx.view(), DType::kFp32);
  expect_gradient(x, dx, forward);
}

void expect_rotary_gradient(RotaryLayout layout) {
  const RotaryShape shape{.time = 3, .heads = 2, .head_dim = 6, .layout = layout};
  const PointwisePolicy policy{.storage = DType::kFp32};
  Array cos(3, 3), sin(3, 3);
  rotary_tables(3, 6, DType::kFp32, cos.view(), sin.view());
  const Array x = test::random_array(3, 12, 1), dy = test::random_array(3, 12, 2);
  Array dx(3, 12);
  rotary_backward(dy.view(), dx.view(), cos.view(), sin.view(), shape, policy);
  expect_gradient(x, dx, [&](const Array& in) {
    Array out(3, 12);
    rotary(in.view(), out.view(), cos.view(), sin.view(), shape, policy);
    return weighted(out, dy);
  });
}

TEST(Gradient, OfRotary) { expect_rotary_gradient(RotaryLayout::kHalvesReversed); }
TEST(Gradient, OfRotaryOfPairs) { expect_rotary_gradient(RotaryLayout::kPairs); }

TEST(Gradient, OfReluSquared) {
  const Array x = test::random_array(3, 19, 1), dy = test::random_array(3, 19, 2);
  Array dx(3, 19);
  relu_squared_backward(dy.view(), x.view(), dx.view(), DType::kFp32);
  expect_gradient(x, dx, [&](const Array& in) {
    Array out(3, 19);
    relu_squared(in.view(), out.view(), DType::kFp32);
    return weighted(out, dy);
  });
}

TEST(Gradient, OfALinearLayer) {
  const Array x = test::random_array(4, 7, 1), w = test::random_array(5, 7, 2),
              dy = test::random_array(4, 5, 3);
  Array dx(4, 7), dw(5, 7);
  matmul_nn(dy.view(), w.view(), dx.view(), kFp32);
  matmul_tn(dy.view(), x.view(), dw.view(), kFp32);
  const auto forward = [&](const Array& in, const Array& weight) {
    Array out(4, 5);
    matmul_nt(in.view(), weight.view(), out.view(), kFp32);
    return weighted(out, dy);
  };
  expect_gradient(x, dx, [&](const Array& in) { return forward(in, w); });
  expect_gradient(w, dw, [&](const Array& weight) { return forward(x, weight); });
}

TEST(Gradient, OfTheEmbedding) {
  const std::vector<int> ids = {2, 0, 2, 3};
  const Array table = test::random_array(4, 5, 1), dout = test::random_array(4, 5, 2);
  Array gradient(4, 5);
  for (float& g : gradient.memory()) g = 0.0f;
  embedding_backward(dout.view(), ids, gradient.view(), DType::kFp32);
  expect_gradient(table, gradient, [&](const Array& t) {
    Array out(4, 5);
    embedding(t.view(), ids, out.view(), DType::kFp32);
    return weighted(out, dout);
  });
}

TEST(Gradient, OfSoftcapAndCrossEntropy) {
  for (const bool eager : {true, false}) {
    for (const auto& [cap, in_fp32] :
         {std::pair{15.0f, false}, std::pair{0.0f, false}, std::pair{15.0f, true}}) {
      const CrossEntropySettings settings{.softcap = cap,
                                          .pointwise = {.storage = DType::kFp32, .eager = eager},
                                          .in_fp32 = in_fp32};
      const std::vector<int> targets = {1, 0, kIgnoreTarget, 8};
      Array logits = test::random_array(4, 9, 1);
      for (float& x : logits.memory()) x *= 3.0f;
      std::vector<float> losses(4), row_max(4), row_sum(4);
      softcap_cross_entropy(logits.view(), targets, losses, {row_max, row_sum}, settings);
      Array gradient(4, 9);
      softcap_cross_entropy_backward(logits.view(), targets, row_max, row_sum, 1.0f,
                                     gradient.view(), settings);
      expect_gradient(logits, gradient, [&](const Array& in) {
        std::vector<float> each(4);
        softcap_cross_entropy(in.view(), targets, each, {}, settings);
        return static_cast<double>(each[0]) + static_cast<double>(each[1]) +
               static_cast<double>(each[2]) + static_cast<double>(each[3]);
      });
    }
  }
}

void expect_attention_gradients(std::int64_t window, std::int64_t first_position = 0) {
  const AttentionShape shape{.batch = 2,
                             .queries = 5,
                             .keys = 5,
                             .heads = 4,
                             .kv_heads = 2,
                             .head_dim = 3,
                             .first_position = first_position,
                             .window = window};
  const Array q = test::random_array(10, 12, 1), k = test::random_array(10, 6, 2),
              v = test::random_array(10, 6, 3);
  const Array dout = test::random_array(10, 12, 4);
  Array out(10, 12), dq(10, 12), dk(10, 6), dv(10, 6);
  std::vector<float> row_max(40), row_sum(40);
  attention(q.view(), k.view(), v.view(), out.view(), {row_max, row_sum}, shape, kFp32);
  attention_backward(dout.view(), q.view(), k.view(), v.view(), out.view(), row_max, row_sum,
                     dq.view(), dk.view(), dv.view(), shape, kFp32);
  const auto forward = [&](const Array& a, const Array& b, const Array& c) {
    Array result(10, 12);
    attention(a.view(), b.view(), c.view(), result.view(), {}, shape, kFp32);
    return weighted(result, dout);
  };
  expect_gradient(q, dq, [&](const Array& x) { return forward(x, k, v); });
  expect_gradient(k, dk, [&](const Array& x) { return forward(q, x, v); });
  expect_gradient(v, dv, [&](const Array& x) { return forward(q, k, x); });
}

TEST(Gradient, OfAttentionWithGroupedKeys) { expect_attention_gradients(0); }

TEST(Gradient, OfAttentionToKeysThatAllQueriesSee) { expect_attention_gradients(0, 5); }

TEST(Gradient, OfAttentionWithAWindow) {
  for (const std::int64_t window : {1, 2, 3}) expect_attention_gradients(window);
}

}  // namespace
}  // namespace nb::kernels
