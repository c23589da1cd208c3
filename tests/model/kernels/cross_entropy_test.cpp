#include "model/kernels/reference/cross_entropy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::Values;

struct LossResults {
  std::vector<float> losses, row_max, row_sum, log_probs;
  std::vector<int> argmax;
  Array dlogits, capped;
};

template <bool kReference>
LossResults run(const Array& logits, const std::vector<int>& targets, const CrossEntropySettings& s,
                float scale = 0.01f) {
  const std::int64_t rows = logits.view().rows, cols = logits.view().cols;
  const auto n = static_cast<std::size_t>(rows);
  LossResults r{std::vector<float>(n), std::vector<float>(n), std::vector<float>(n),
                std::vector<float>(n), std::vector<int>(n),   Array(rows, cols),
                Array(rows, cols)};
  const CrossEntropySaved saved{r.row_max, r.row_sum};
  if constexpr (kReference) {
    reference::softcap_cross_entropy(logits.view(), targets, r.losses, saved, s);
    reference::softcap_cross_entropy_backward(logits.view(), targets, r.row_max, r.row_sum, scale,
                                              r.dlogits.view(), s);
    reference::softcap(logits.view(), r.capped.view(), s);
    reference::score_targets(logits.view(), targets, r.log_probs, r.argmax, s);
  } else {
    softcap_cross_entropy(logits.view(), targets, r.losses, saved, s);
    softcap_cross_entropy_backward(logits.view(), targets, r.row_max, r.row_sum, scale,
                                   r.dlogits.view(), s);
    softcap(logits.view(), r.capped.view(), s);
    score_targets(logits.view(), targets, r.log_probs, r.argmax, s);
  }
  return r;
}

TEST(CrossEntropy, EqualsItsDefinition) {
  for (const std::int64_t vocabulary : {1, 5, 16, 33, 300}) {
    for (const PointwisePolicy& policy : test::pointwise_policies()) {
      for (const auto& [cap, in_fp32] : {std::pair{15.0f, false}, std::pair{0.0f, false},
                                         std::pair{15.0f, true}, std::pair{0.0f, true}}) {
        for (const Values values : {Values::kOrdinary, Values::kNonFinite}) {
          SCOPED_TRACE(testing::Message() << "V " << vocabulary << " cap " << cap
                                          << (in_fp32 ? " in fp32 " : " ") << test::text(policy));
          Array logits = test::random_array(7, vocabulary, 1, values);
          for (float& x : logits.memory()) x *= 8.0f;
          std::vector<int> targets = test::random_ids(7, static_cast<int>(vocabulary), 2);
          targets[3] = kIgnoreTarget;
          const CrossEntropySettings settings{
              .softcap = cap, .pointwise = policy, .in_fp32 = in_fp32};
          const LossResults expected = run<true>(logits, targets, settings);
          test::at_every_level([&] {
            const LossResults actual = run<false>(logits, targets, settings);
            EXPECT_TRUE(test::same_bits(actual.losses, expected.losses));
            EXPECT_TRUE(test::same_bits(actual.row_max, expected.row_max));
            EXPECT_TRUE(test::same_bits(actual.row_sum, expected.row_sum));
            EXPECT_TRUE(test::same_bits(actual.dlogits, expected.dlogits));
            EXPECT_TRUE(test::same_bits(actual.capped, expected.capped));
            EXPECT_TRUE(test::same_bits(actual.log_probs, expected.log_probs));
            if (values == Values::kOrdinary) {
              EXPECT_EQ(actual.argmax, expected.argmax);
            }
          });
        }
      }
    }
  }
}

// Rows of which every logit is small take a short way, unless something in it could be denormal.
TEST(CrossEntropy, SmallLogitsEqualTheDefinition) {
  const float hard[] = {0.0f, -0.0f, 0x1p-126f, -0x1p-130f, 0x1p-49f, 0x1p-47f, -9.29f, 9.37f};
  for (const PointwisePolicy& policy : test::pointwise_policies()) {
    for (const float cap : {15.0f, 7.0f, 0x1p-80f}) {
      for (const float scale : {1.0f / 2048, 0.0f, -0x1p-31f, 0x1p-120f, 0x1p40f}) {
        SCOPED_TRACE(testing::Message() << cap << " " << scale << " " << test::text(policy));
        Array logits = test::random_array(9, 300, 1, Values::kOrdinary);
        for (std::int64_t row = 0; row < 9; ++row) {
          for (std::int64_t i = 0; i < 300; ++i) {
            float& x = logits.view().row(row)[i];
            x = std::fmod(x, 4.0f) + std::copysign(0x1p-30f, x);
          }
          if (row > 0) logits.view().row(row)[50 * row % 300] = hard[row - 1];
        }
        const std::vector<int> targets = test::random_ids(9, 300, 2);
        const CrossEntropySettings settings{.softcap = cap, .pointwise = policy};
        const LossResults expected = run<true>(logits, targets, settings, scale);
        test::at_every_level([&] {
          const LossResults actual = run<false>(logits, targets, settings, scale);
          EXPECT_TRUE(test::same_bits(actual.losses, expected.losses));
          EXPECT_TRUE(test::same_bits(actual.row_sum, expected.row_sum));
          EXPECT_TRUE(test::same_bits(actual.dlogits, expected.dlogits));
          EXPECT_TRUE(test::same_bits(actual.capped, expected.capped));
          EXPECT_TRUE(test::same_bits(actual.log_probs, expected.log_probs));
        });
      }
    }
  }
}

TEST(CrossEntropy, EqualLogitsCostTheLogarithmOfTheVocabulary) {
  for (const int vocabulary : {2, 4096, 65536}) {
    const std::vector<float> zeros(static_cast<std::size_t>(vocabulary), 0.0f);
    float loss = 0.0f;
    const int target = 1;
    softcap_cross_entropy(matrix(zeros.data(), 1, vocabulary), {&target, 1}, {&loss, 1}, {}, {});
    const auto exact = static_cast<float>(std::log(static_cast<double>(vocabulary)));
    EXPECT_LE(std::fabs(loss - exact), std::nextafter(exact, 100.0f) - exact) << vocabulary;
  }
}

TEST(CrossEntropy, AnIgnoredRowHasNoLossAndNoGradient) {
  const float logits[] = {1.0f, NAN, 3.0f};
  const int target = kIgnoreTarget;
  const float max = 3.0f, sum = 1.0f;
  float loss = 7.0f, gradient[3] = {7.0f, 7.0f, 7.0f};
  softcap_cross_entropy(matrix(logits, 1, 3), {&target, 1}, {&loss, 1}, {}, {});
  softcap_cross_entropy_backward(matrix(logits, 1, 3), {&target, 1}, {&max, 1}, {&sum, 1}, 1.0f,
                                 matrix(gradient, 1, 3), {});
  EXPECT_EQ(loss, 0.0f);
  for (const float g : gradient) EXPECT_EQ(g, 0.0f);
}

TEST(CrossEntropy, ScoringIsTheNegativeLossAndTiesGoToTheFirst) {
  const CrossEntropySettings settings{.pointwise = {.storage = DType::kBf16}};
  // 10.01 and 10.02 have the same bf16 value 10.
  const float logits[] = {1.0f, 10.01f, 10.02f, -3.0f};
  const int target = 3;
  float loss = 0.0f, log_prob = 0.0f;
  int argmax = -1;
  softcap_cross_entropy(matrix(logits, 1, 4), {&target, 1}, {&loss, 1}, {}, settings);
  score_targets(matrix(logits, 1, 4), {&target, 1}, {&log_prob, 1}, {&argmax, 1}, settings);
  EXPECT_EQ(log_prob, -loss);
  EXPECT_EQ(argmax, 1);
}

TEST(CrossEntropy, ArgmaxNeverPicksNaN) {
  const float logits[] = {NAN, -5.0f, 2.0f, NAN};
  const float nothing[] = {NAN, NAN, NAN, NAN};
  const int target = 1;
  int argmax = -1;
  score_targets(matrix(logits, 1, 4), {&target, 1}, {}, {&argmax, 1}, {});
  EXPECT_EQ(argmax, 2);
  score_targets(matrix(nothing, 1, 4), {&target, 1}, {}, {&argmax, 1}, {});
  EXPECT_EQ(argmax, 0);
}

// Columns of wider rows: the largest logit, the target's and the gradient are exact; Σ exp is a sum
// of parts.
TEST(CrossEntropy, OfPartsIsThatOfTheWholeRow) {
  for (const PointwisePolicy& policy : test::pointwise_policies()) {
    const CrossEntropySettings settings{.softcap = 15.0f, .pointwise = policy};
    Array logits = test::random_array(6, 40, 1);
    for (float& x : logits.memory()) x *= 8.0f;
    const std::vector<int> targets = {0, 22, 23, kIgnoreTarget, 39, 7};
    const LossResults whole = run<false>(logits, targets, settings);
    std::vector<float> max(6, -INFINITY), sum(6), at_target(6);
    Array dlogits(6, 40);
    for (const auto& [first, cols] : {std::pair{0, 23}, std::pair{23, 17}}) {
      std::vector<float> part_max(6), part_target(6), part_sum(6);
      const ConstMatrix part = column_block(ConstMatrix(logits.view()), first, cols);
      softcap_part_max(part, targets, first, part_max, part_target, settings);
      softcap_part_sum(part, whole.row_max, part_sum, settings);
      softcap_part_backward(part, targets, first, whole.row_max, whole.row_sum, 0.01f,
                            column_block(dlogits.view(), first, cols), settings);
      for (std::size_t i = 0; i < max.size(); ++i) {
        max[i] = std::max(max[i], part_max[i]);
        at_target[i] += part_target[i];
        sum[i] += part_sum[i];
      }
    }
    EXPECT_TRUE(test::same_bits(max, whole.row_max));
    EXPECT_TRUE(test::same_bits(dlogits, whole.dlogits));
    for (std::size_t i = 0; i < max.size(); ++i) {
      EXPECT_NEAR(sum[i] / whole.row_sum[i], 1, 40 * 0x1p-24) << i;
      if (targets[i] != kIgnoreTarget) {
        EXPECT_NEAR(std::log(sum[i]) - (at_target[i] - max[i]), whole.losses[i], 1e-5) << i;
      }
    }
  }
}

TEST(CrossEntropy, ATargetOutsideTheVocabularyFailsTheCheck) {
  const float logits[] = {1.0f, 2.0f};
  float loss = 0.0f;
  for (const int target : {-2, 2}) {
    EXPECT_THROW(softcap_cross_entropy(matrix(logits, 1, 2), {&target, 1}, {&loss, 1}, {}, {}),
                 CheckFailure);
  }
}

// Upcast logits are capped as fp32 storage caps them; only their gradient is rounded.
TEST(CrossEntropy, InFp32RoundsNothingButTheGradient) {
  const Array logits = test::random_array(5, 40, 1, Values::kBf16);
  const std::vector<int> targets = {0, 3, 39, kIgnoreTarget, 7};
  for (const bool eager : {true, false}) {
    const LossResults low = run<false>(
        logits, targets, {.pointwise = {.storage = DType::kBf16, .eager = eager}, .in_fp32 = true});
    const LossResults high =
        run<false>(logits, targets, {.pointwise = {.storage = DType::kFp32, .eager = eager}});
    EXPECT_TRUE(test::same_bits(low.losses, high.losses));
    EXPECT_TRUE(test::same_bits(low.log_probs, high.log_probs));
    EXPECT_TRUE(test::same_bits(low.capped, high.capped));
    for (std::int64_t i = 0; i < 5; ++i)
      for (std::int64_t j = 0; j < 40; ++j)
        ASSERT_EQ(low.dlogits.view().row(i)[j],
                  round_to(DType::kBf16, high.dlogits.view().row(i)[j]));
  }
}

}  // namespace
}  // namespace nb::kernels
