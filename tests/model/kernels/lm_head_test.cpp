// The fused head gives the bits of its separate kernels, at every level, in any grouping of rows.
#include "model/kernels/lm_head.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/reference/cross_entropy.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::Values;

struct Case {
  std::int64_t rows, vocabulary, width;
};

struct Results {
  std::vector<float> losses, scored, log_probs;
  std::vector<int> argmax;
  Array dx, dw;
};

constexpr float kRowScale = 1.0f / 37.0f;

Results empty_results(const Case& c) {
  const auto n = static_cast<std::size_t>(c.rows);
  return {std::vector<float>(n),  std::vector<float>(n),
          std::vector<float>(n),  std::vector<int>(n),
          Array(c.rows, c.width), test::random_array(c.vocabulary, c.width, 9)};
}

Results separate(const Array& x, const Array& w, const std::vector<int>& targets, const Case& c,
                 const LmHeadPolicy& policy) {
  Results r = empty_results(c);
  const auto n = static_cast<std::size_t>(c.rows);
  std::vector<float> max(n), sum(n);
  Array z(c.rows, c.vocabulary);
  reference::matmul_nt(x.view(), w.view(), z.view(), policy.products);
  reference::softcap_cross_entropy(z.view(), targets, r.losses, {max, sum}, policy.loss);
  reference::score_targets(z.view(), targets, r.log_probs, r.argmax, policy.loss);
  for (std::size_t i = 0; i < n; ++i) {
    if (targets[i] == kIgnoreTarget) r.argmax[i] = -1;
  }
  r.scored = r.losses;
  Array dz(c.rows, c.vocabulary);
  reference::softcap_cross_entropy_backward(z.view(), targets, max, sum, kRowScale, dz.view(),
                                            policy.loss);
  reference::matmul_nn(dz.view(), w.view(), r.dx.view(), policy.products);
  reference::matmul_tn(dz.view(), x.view(), r.dw.view(), policy.weight_gradient, true);
  return r;
}

Results fused(const Array& x, const HeadWeight& w, const std::vector<int>& targets, const Case& c,
              const LmHeadPolicy& policy) {
  Results r = empty_results(c);
  lm_head_losses(x.view(), w, targets, r.scored, policy);
  lm_head_loss_and_backward(x.view(), w, targets, kRowScale, r.losses, r.dx.view(), r.dw.view(),
                            true, policy, 100000);  // a few groups in large cases
  lm_head_scores(x.view(), w, targets, r.log_probs, r.argmax, policy);
  return r;
}

void expect_equal(const Case& c, const LmHeadPolicy& policy, Values values) {
  SCOPED_TRACE(testing::Message() << c.rows << " rows, V " << c.vocabulary << ", C " << c.width
                                  << ", cap " << policy.loss.softcap << ", "
                                  << test::text(policy.products) << ", "
                                  << test::text(policy.loss.pointwise));
  const Array x = test::random_array(c.rows, c.width, 1, values);
  Array w = test::random_array(c.vocabulary, c.width, 2, values);
  for (float& v : w.memory()) v *= 2.0f;  // logits in and beyond the straight part of tanh
  std::vector<int> targets =
      test::random_ids(static_cast<std::size_t>(c.rows), static_cast<int>(c.vocabulary), 3);
  for (std::size_t i = 0; i < targets.size(); i += 5) targets[i] = kIgnoreTarget;
  const Results expected = separate(x, w, targets, c, policy);
  test::at_every_level([&] {
    const PackedMatrix nt = pack_weight(w.view(), policy.products, PackFor::kNt);
    const PackedMatrix nn = pack_weight(w.view(), policy.products, PackFor::kNn);
    for (const HeadWeight& weight : {HeadWeight(w.view()), HeadWeight(w.view(), &nt, &nn)}) {
      const Results actual = fused(x, weight, targets, c, policy);
      EXPECT_TRUE(test::same_bits(actual.losses, expected.losses));
      EXPECT_TRUE(test::same_bits(actual.scored, expected.scored));
      EXPECT_TRUE(test::same_bits(actual.dx, expected.dx));
      EXPECT_TRUE(test::same_bits(actual.dw, expected.dw));
      EXPECT_TRUE(test::same_bits(actual.log_probs, expected.log_probs));
      EXPECT_EQ(actual.argmax, expected.argmax);
    }
  });
}

LmHeadPolicy policy_of(DType storage, bool eager) {
  const MatmulPolicy products = {.inputs = storage, .output = storage};
  return {products, products, {.pointwise = {.storage = storage, .eager = eager}}};
}

TEST(LmHead, EqualsTheSeparateKernels) {
  for (const bool eager : {true, false}) {
    for (const DType storage : {DType::kBf16, DType::kFp32, DType::kFp16}) {
      for (const Case& c : {Case{1, 5, 3}, Case{7, 33, 16}, Case{24, 512, 8}, Case{61, 530, 40}}) {
        expect_equal(c, policy_of(storage, eager), Values::kOrdinary);
      }
    }
  }
}

TEST(LmHead, EqualsThemAtTheEdgesOfTheFormats) {
  for (const bool eager : {true, false}) {
    for (const Values values : {Values::kFinite, Values::kNonFinite}) {
      for (const DType storage : {DType::kBf16, DType::kFp32}) {
        expect_equal({30, 70, 5}, policy_of(storage, eager), values);
      }
    }
  }
}

TEST(LmHead, EqualsThemForOtherCapsAndSums) {
  for (const float cap : {0.0f, 5.0f, 30.0f}) {
    LmHeadPolicy policy = policy_of(DType::kBf16, true);
    policy.loss.softcap = cap;
    expect_equal({26, 100, 20}, policy, Values::kOrdinary);
  }
  LmHeadPolicy wide = policy_of(DType::kBf16, true);  // logits that are no bf16 numbers
  wide.products.output = DType::kFp32;
  expect_equal({26, 100, 20}, wide, Values::kOrdinary);
  LmHeadPolicy split = policy_of(DType::kBf16, true);
  split.weight_gradient.accumulation = Accumulation::kBlock16;
  expect_equal({70, 100, 20}, split, Values::kOrdinary);
}

// What lets a product with 1/15 stand for the division: after rounding to bf16 both are the same,
// for every bf16 number.
TEST(LmHead, InverseOfTheCapEqualsDivisionForEveryBf16Number) {
  const float inverse = 1.0f / 15.0f;
  for (std::uint32_t high = 0; high < 65536; ++high) {
    const std::uint32_t bits = high << 16;
    float x = 0.0f;
    std::memcpy(&x, &bits, sizeof x);
    if (std::isnan(x)) continue;
    const float divided = round_to(DType::kBf16, x / 15.0f);
    const float multiplied = round_to(DType::kBf16, x * inverse);
    ASSERT_EQ(std::memcmp(&divided, &multiplied, sizeof divided), 0) << x;
  }
}

TEST(LmHead, WrongShapesAreOurMistake) {
  const Array x(4, 3), w(10, 3), narrow(10, 2);
  std::vector<float> losses(4);
  const LmHeadPolicy policy = policy_of(DType::kBf16, true);
  const std::vector<int> good = {0, 1, 2, 9}, large = {0, 1, 2, 10}, few = {0, 1};
  EXPECT_NO_THROW(lm_head_losses(x.view(), w.view(), good, losses, policy));
  EXPECT_THROW(lm_head_losses(x.view(), narrow.view(), good, losses, policy), CheckFailure);
  EXPECT_THROW(lm_head_losses(x.view(), w.view(), large, losses, policy), CheckFailure);
  EXPECT_THROW(lm_head_losses(x.view(), w.view(), few, losses, policy), CheckFailure);
}

}  // namespace
}  // namespace nb::kernels
