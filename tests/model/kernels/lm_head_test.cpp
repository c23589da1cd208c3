// The fused head gives the bits of its separate kernels, at every level, in any grouping of rows.
#include "model/kernels/lm_head.hpp"

#include <gtest/gtest.h>

#include <algorithm>
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
  std::int64_t padding = 0;  // rows of w behind the vocabulary
  std::int64_t padded() const { return vocabulary + padding; }
};

struct HeadResults {
  std::vector<float> losses, scored, log_probs;
  std::vector<int> argmax;
  Array dx, dw;
};

// One for all rows, or another for each: of either sign, zero, and far from one.
constexpr float kOfAll = 1.0f / 37.0f;
LossGradients gradients(std::int64_t rows, bool of_rows) {
  static std::vector<float> each;
  if (!of_rows) return kOfAll;
  constexpr float kSome[] = {0.5f, -0.25f, 0.0f, 3e-4f, -17.0f, 0x1p-40f, -0.0f};
  each.resize(static_cast<std::size_t>(rows));
  for (std::size_t i = 0; i < each.size(); ++i) each[i] = kSome[i % std::size(kSome)];
  return std::span<const float>(each);
}

HeadResults empty_results(const Case& c) {
  const auto n = static_cast<std::size_t>(c.rows);
  return {std::vector<float>(n),  std::vector<float>(n),
          std::vector<float>(n),  std::vector<int>(n),
          Array(c.rows, c.width), test::random_array(c.padded(), c.width, 9)};
}

HeadResults separate(const Array& x, const Array& w, const std::vector<int>& targets, const Case& c,
                     const LmHeadPolicy& policy, bool of_rows) {
  HeadResults r = empty_results(c);
  const auto n = static_cast<std::size_t>(c.rows);
  std::vector<float> max(n), sum(n);
  Array all(c.rows, c.padded());
  reference::matmul_nt(x.view(), w.view(), all.view(), policy.products);
  const ConstMatrix z = column_block(all.view(), 0, c.vocabulary);
  reference::softcap_cross_entropy(z, targets, r.losses, {max, sum}, policy.loss);
  reference::score_targets(z, targets, r.log_probs, r.argmax, policy.loss);
  for (std::size_t i = 0; i < n; ++i) {
    if (targets[i] == kIgnoreTarget) r.argmax[i] = -1;
  }
  r.scored = r.losses;
  Array dz(c.rows, c.padded());
  std::fill(dz.memory().begin(), dz.memory().end(), 0.0f);
  reference::softcap_cross_entropy_backward(z, targets, max, sum, gradients(c.rows, of_rows),
                                            column_block(dz.view(), 0, c.vocabulary), policy.loss);
  reference::matmul_nn(dz.view(), w.view(), r.dx.view(), policy.products);
  reference::matmul_tn(dz.view(), x.view(), r.dw.view(), policy.weight_gradient, true);
  return r;
}

HeadResults fused(const Array& x, const HeadWeight& w, const std::vector<int>& targets,
                  const Case& c, const LmHeadPolicy& policy, bool of_rows) {
  HeadResults r = empty_results(c);
  lm_head_losses(x.view(), w, targets, r.scored, policy);
  lm_head_loss_and_backward(x.view(), w, targets, gradients(c.rows, of_rows), r.losses, r.dx.view(),
                            r.dw.view(), true, policy, 100000);  // a few groups in large cases
  lm_head_scores(x.view(), w, targets, r.log_probs, r.argmax, policy);
  return r;
}

void expect_equal(const Case& c, const LmHeadPolicy& policy, Values values, bool of_rows = false) {
  SCOPED_TRACE(testing::Message() << c.rows << " rows, V " << c.vocabulary << ", C " << c.width
                                  << " + " << c.padding << ", cap " << policy.loss.softcap
                                  << (policy.loss.in_fp32 ? " in fp32, " : ", ")
                                  << test::text(policy.products) << ", "
                                  << test::text(policy.loss.pointwise));
  const Array x = test::random_array(c.rows, c.width, 1, values);
  Array w = test::random_array(c.padded(), c.width, 2, values);
  for (float& v : w.memory()) v *= 2.0f;  // logits in and beyond the straight part of tanh
  std::vector<int> targets =
      test::random_ids(static_cast<std::size_t>(c.rows), static_cast<int>(c.vocabulary), 3);
  for (std::size_t i = 0; i < targets.size(); i += 5) targets[i] = kIgnoreTarget;
  const HeadResults expected = separate(x, w, targets, c, policy, of_rows);
  test::at_every_level([&] {
    const PackedMatrix nt = pack_weight(w.view(), policy.products, PackFor::kNt);
    const PackedMatrix nn = pack_weight(w.view(), policy.products, PackFor::kNn);
    for (const HeadWeight& weight : {HeadWeight(w.view(), nullptr, nullptr, c.vocabulary),
                                     HeadWeight(w.view(), &nt, &nn, c.vocabulary)}) {
      const HeadResults actual = fused(x, weight, targets, c, policy, of_rows);
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

TEST(LmHead, EqualsThemWithTheCapInFp32) {
  for (const bool eager : {true, false}) {
    for (const DType storage : {DType::kBf16, DType::kFp32, DType::kFp16}) {
      for (const float cap : {0.0f, 15.0f, 30.0f}) {
        LmHeadPolicy policy = policy_of(storage, eager);
        policy.loss.softcap = cap;
        policy.loss.in_fp32 = true;
        for (const Values values : {Values::kOrdinary, Values::kFinite})
          expect_equal({26, 100, 20}, policy, values);
      }
    }
  }
}

TEST(LmHead, EqualsThemWithAGradientOfEachLoss) {
  LmHeadPolicy split = policy_of(DType::kBf16, true);
  split.weight_gradient.accumulation = Accumulation::kBlock16;
  for (const LmHeadPolicy& policy : {policy_of(DType::kBf16, true), policy_of(DType::kBf16, false),
                                     policy_of(DType::kFp32, true), split}) {
    for (const Case& c : {Case{1, 5, 3}, Case{26, 100, 20}, Case{61, 513, 40, 63}})
      expect_equal(c, policy, Values::kOrdinary, true);
  }
}

// Panels and pairs of rows that tokens and padding share.
TEST(LmHead, EqualsThemWithPaddingBehindTheVocabulary) {
  LmHeadPolicy split = policy_of(DType::kBf16, true);
  split.products.accumulation = split.weight_gradient.accumulation = Accumulation::kSplitK;
  split.products.split_k = 3;
  for (const LmHeadPolicy& policy : {policy_of(DType::kBf16, true), policy_of(DType::kBf16, false),
                                     policy_of(DType::kFp32, true), split}) {
    for (const Case& c : {Case{1, 5, 3, 1}, Case{7, 33, 16, 31}, Case{24, 500, 8, 12},
                          Case{61, 513, 40, 63}, Case{37, 64, 9, 200}, Case{9, 31, 5, 1}})
      expect_equal(c, policy, Values::kOrdinary);
  }
}

TEST(LmHead, GradientsOfPaddingAreZeroOrStay) {
  const Array x = test::random_array(5, 4, 1), w = test::random_array(24, 4, 2);
  const std::vector<int> targets = {0, 1, 20, kIgnoreTarget, 7};
  for (const bool accumulate : {false, true}) {
    Array dx(5, 4), dw(24, 4);
    std::fill(dw.memory().begin(), dw.memory().end(), -0.0f);
    std::vector<float> losses(5);
    lm_head_loss_and_backward(x.view(), {w.view(), nullptr, nullptr, 21}, targets, 1.0f, losses,
                              dx.view(), dw.view(), accumulate, policy_of(DType::kBf16, true));
    EXPECT_NE(dw.view().row(20)[0], 0.0f);
    for (std::int64_t row = 21; row < 24; ++row)
      for (std::int64_t j = 0; j < 4; ++j) {
        EXPECT_EQ(dw.view().row(row)[j], 0.0f);
        EXPECT_EQ(std::signbit(dw.view().row(row)[j]), accumulate);
      }
  }
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
  Array dx(4, 3), dw(10, 3);
  const std::span<const float> few_gradients = std::span(losses).first(3);
  EXPECT_THROW(lm_head_loss_and_backward(x.view(), w.view(), good, few_gradients, losses, dx.view(),
                                         dw.view(), false, policy),
               CheckFailure);
}

}  // namespace
}  // namespace nb::kernels
