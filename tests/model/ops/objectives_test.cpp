// Objectives against values worked out by hand, and against those of modelscope/twinkle's formulas.
#include "model/ops/objectives.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/device/profile.hpp"
#include "tests/support/decoder_golden.hpp"

namespace nb {
namespace {

using Floats = std::vector<float>;

class Objectives : public testing::Test {
 protected:
  Tensor losses(const Floats& log_probs) {
    Tensor t = device_.allocate({std::ssize(log_probs)}, DType::kFp32, "losses");
    for (std::size_t i = 0; i < log_probs.size(); ++i) t.host()[i] = -log_probs[i];
    return t;
  }
  struct Outcome {
    float loss;
    Floats gradient;
  };
  template <class Op>
  Outcome run(const Floats& log_probs, const Op& op) {
    Tape tape;
    Tensor leaf = losses(log_probs);
    Outcome outcome;
    Tape::record(leaf, {}, {}, [&] {
      return [&](const Tensor& dy, const SavedBlocks&) {
        outcome.gradient.assign(dy.host().begin(), dy.host().end());
        return Tape::Gradients{};
      };
    });
    Tensor loss = op(leaf);
    tape.backward(loss);
    outcome.loss = std::as_const(loss).host()[0];
    return outcome;
  }

  Device device_{test::fp32_profile(), ExecutionMode::kExecute};
};

TEST_F(Objectives, WeightedSumIsTheSumAndItsGradientTheWeights) {
  const Outcome o = run({-1, -2, -4}, [](const Tensor& l) {
    return ops::weighted_sum(l, Floats{0.5F, -1, 0.25F}, 2);
  });
  EXPECT_EQ(o.loss, 0.5F * 1 - 1 * 2 + 0.25F * 4);
  EXPECT_EQ(o.gradient, (Floats{1, -2, 0.5F}));
}

// Two sequences of four tokens, of which three and two count.
const Floats kNow = {-0.5F, -1.2F, -2.0F, -0.3F, -0.9F, -0.1F, -1.5F, -0.7F};
const Floats kOld = {-0.6F, -1.0F, -2.6F, -0.3F, -1.4F, -0.2F, -1.5F, -0.7F};
const Floats kReference = {-0.55F, -1.1F, -1.8F, -0.4F, -1.0F, -0.3F, -1.2F, -0.9F};
const Floats kAdvantages = {0.8F, 0.8F, 0.8F, 0.8F, -0.5F, -0.5F, -0.5F, -0.5F};
const std::vector<int> kSequenceOfRow = {-1, 0, 0, 0, 1, 1, -1, -1};

TEST_F(Objectives, PolicyLossIsTwinklesOfEveryMean) {
  const auto loss = [&](const ops::PolicyOptions& options, double scale = 1) {
    return run(kNow, [&](const Tensor& l) {
      return ops::policy_loss(l, {kOld, kReference, kAdvantages, kSequenceOfRow}, options, scale);
    });
  };
  EXPECT_NEAR(loss({}).loss, -0.05826091014675888, 1e-7);
  EXPECT_NEAR(loss({.kl_weight = 0.04}).loss, -0.057815821140474344, 1e-7);
  const double sum = loss({.mean = ops::PolicyMean::kSum}).loss;
  EXPECT_NEAR(loss({.mean = ops::PolicyMean::kTokens}).loss, -0.20760770161489947, 1e-7);
  EXPECT_NEAR(sum / (2 * 1024), -0.0005068547402707507, 1e-9);  // sequences × the longest allowed
  EXPECT_EQ(loss({}, 0.5).loss, loss({}).loss) << "scale is of the gradient";
  EXPECT_EQ(loss({}, 0.5).gradient[1], loss({}).gradient[1] * 0.5F);
}

// The forms of its kin on the same tokens. CISPO's ratio is a constant, so its gradient is checked
// here: the ratio, at most 1.2, times A over the five tokens.
TEST_F(Objectives, PolicyFormsAreTwinkles) {
  const auto outcome = [&](const ops::PolicyOptions& options) {
    return run(kNow, [&](const Tensor& l) {
      return ops::policy_loss(l, {kOld, kReference, kAdvantages, kSequenceOfRow}, options);
    });
  };
  EXPECT_NEAR(outcome({.form = PolicyForm::kSequenceRatio}).loss, -0.11958762282428836, 1e-7);
  EXPECT_NEAR(outcome({.form = PolicyForm::kSoftGate}).loss, -0.2882338364783157, 1e-7);
  const Outcome capped =
      outcome({.mean = ops::PolicyMean::kTokens, .form = PolicyForm::kCappedConstant});
  EXPECT_NEAR(capped.loss, 0.47014459541021597, 1e-7);
  EXPECT_NEAR(capped.gradient[1], std::exp(-0.2) * 0.8 / 5, 1e-7);
  EXPECT_NEAR(capped.gradient[2], 1.2 * 0.8 / 5, 1e-7);
  EXPECT_NEAR(capped.gradient[4], 1.2 * -0.5 / 5, 1e-7);
  EXPECT_EQ(capped.gradient[6], 0);
  const double sum = outcome({.mean = ops::PolicyMean::kSum, .divisor = 2 * 1024}).loss;
  EXPECT_NEAR(sum, -0.0005068547402707507, 1e-9);
}

TEST_F(Objectives, ASequencesRatioIsThatOfItsMean) {
  auto metrics = std::make_shared<ops::PolicyMetrics>();
  run(kNow, [&](const Tensor& l) {
    return ops::policy_loss(l, {kOld, {}, kAdvantages, kSequenceOfRow},
                            {.form = PolicyForm::kSequenceRatio}, 1, metrics);
  });
  EXPECT_NEAR(metrics->ratio_min, std::exp((-0.2 + 0.6 + 0.0) / 3), 1e-6);
  EXPECT_NEAR(metrics->ratio_max, std::exp((0.5 + 0.1) / 2), 1e-6);
}

TEST_F(Objectives, WithoutOldLogProbsTheRatioIsOne) {
  auto metrics = std::make_shared<ops::PolicyMetrics>();
  const Outcome o = run(kNow, [&](const Tensor& l) {
    return ops::policy_loss(l, {{}, {}, kAdvantages, kSequenceOfRow}, {}, 1, metrics);
  });
  EXPECT_NEAR(o.loss, -0.15, 1e-7);  // -(0.8 - 0.5) / 2
  EXPECT_NEAR(o.gradient[1], 0.8 / 6, 1e-7);
  EXPECT_NEAR(o.gradient[4], -0.5 / 4, 1e-7);
  EXPECT_EQ(o.gradient[0], 0.0F);
  EXPECT_EQ(metrics->ratio_min, 1);
  EXPECT_EQ(metrics->ratio_max, 1);
  EXPECT_EQ(metrics->old_kl, 0);
}

TEST_F(Objectives, PolicyMetricsCountWhatTheClipCutsOff) {
  auto metrics = std::make_shared<ops::PolicyMetrics>();
  const Outcome o = run(kNow, [&](const Tensor& l) {
    return ops::policy_loss(l, {kOld, kReference, kAdvantages, kSequenceOfRow}, {.kl_weight = 0.04},
                            1, metrics);
  });
  // Ratios of the five tokens: exp of -0.2, 0.6, 0 (A = 0.8) and 0.5, 0.1 (A = -0.5).
  EXPECT_EQ(metrics->tokens, 5);
  EXPECT_NEAR(metrics->ratio_min, std::exp(-0.2), 1e-6);
  EXPECT_NEAR(metrics->ratio_max, std::exp(0.6), 1e-6);
  EXPECT_NEAR(metrics->ratio_mean,
              (std::exp(-0.2) + std::exp(0.6) + 1 + std::exp(0.5) + std::exp(0.1)) / 5, 1e-6);
  EXPECT_EQ(metrics->clip_low_fraction, 0);
  EXPECT_EQ(metrics->clip_high_fraction, 0.2);  // exp(0.6); exp(0.5) has A < 0
  double divergence = 0;
  for (const double away : {0.1, 0.2, -0.1, -0.1, -0.2}) divergence += std::exp(away) - away - 1;
  EXPECT_NEAR(metrics->reference_kl, divergence / 5, 1e-6);
  // The token that is cut off has the divergence's gradient alone.
  EXPECT_NEAR(o.gradient[2], 0.04 * (std::exp(0.2) - 1) / 6, 1e-8);
}

TEST_F(Objectives, RatiosAreBounded) {
  auto metrics = std::make_shared<ops::PolicyMetrics>();
  const Outcome o = run({-1, -90}, [&](const Tensor& l) {
    return ops::policy_loss(l, {Floats{-90, -1}, {}, Floats{-1, -1}, std::vector<int>{0, 0}}, {}, 1,
                            metrics);
  });
  EXPECT_NEAR(metrics->ratio_max / std::exp(20.0), 1, 1e-12);
  EXPECT_NEAR(o.loss / (std::exp(20.0) / 2), 1, 1e-6);
  EXPECT_EQ(o.gradient, (Floats{0, 0}));
}

TEST_F(Objectives, NoTokensGiveNoLoss) {
  const Outcome o = run({-1, -2}, [&](const Tensor& l) {
    return ops::policy_loss(l, {{}, {}, Floats{1, 1}, std::vector<int>{-1, -1}}, {});
  });
  EXPECT_EQ(o.loss, 0);
  EXPECT_EQ(o.gradient, (Floats{0, 0}));
}

TEST_F(Objectives, SequencesAreThoseOfTargets) {
  EXPECT_EQ(ops::sequences_of(std::array{-1, 5, 0, 7, -1, -1}, 3),
            (std::vector<int>{-1, 0, 0, 1, -1, -1}));
}

// Two pairs of answers of two tokens.
TEST_F(Objectives, PreferenceLossIsThatOfTheMargins) {
  const Floats log_probs = {-0.5F, -0.5F, -1.5F, -1.5F, -2, -1, -0.25F, -0.25F};
  const std::vector<ops::PreferencePair> pairs = {{{0, 2}, {2, 4}, -1.5, -2},
                                                  {{4, 6}, {6, 8}, -2.5, -1}};
  // Rewards by β = 0.5: (0.25, -0.5) and (-0.25, 0.25), so margins 0.75 and -0.5.
  for (const double smoothing : {0.0, 0.1}) {
    auto metrics = std::make_shared<ops::PreferenceMetrics>();
    const Outcome o = run(log_probs, [&](const Tensor& l) {
      return ops::preference_loss(l, pairs, {.beta = 0.5, .label_smoothing = smoothing}, 1,
                                  metrics);
    });
    const auto sigmoid = [](double z) { return 1 / (1 + std::exp(-z)); };
    double loss = 0;
    for (const double z : {0.75, -0.5})
      loss -= ((1 - smoothing) * std::log(sigmoid(z)) + smoothing * std::log(sigmoid(-z))) / 2;
    EXPECT_NEAR(o.loss, loss, 1e-7);
    for (std::size_t i = 0; i < log_probs.size(); ++i) {
      const double z = i < 4 ? 0.75 : -0.5, sign = i % 4 < 2 ? 1 : -1;
      const double slope = (1 - smoothing) * sigmoid(-z) - smoothing * sigmoid(z);
      EXPECT_NEAR(o.gradient[i], sign * 0.5 * slope / 2, 1e-7) << i;
    }
    EXPECT_EQ(metrics->pairs, 2);
    EXPECT_DOUBLE_EQ(metrics->chosen_reward, 0);
    EXPECT_DOUBLE_EQ(metrics->rejected_reward, -0.125);
    EXPECT_DOUBLE_EQ(metrics->margin, 0.125);
    EXPECT_DOUBLE_EQ(metrics->accuracy, 0.5);
  }
}

TEST_F(Objectives, PreferenceLossOfLargeMarginsStaysFinite) {
  const std::vector<ops::PreferencePair> pair = {{{0, 1}, {1, 2}, 0, 0}};
  const auto loss = [&](const Floats& log_probs) {
    return run(log_probs,
               [&](const Tensor& l) { return ops::preference_loss(l, pair, {.beta = 1}); });
  };
  EXPECT_EQ(loss({-1, -2001}).loss, 0);
  EXPECT_EQ(loss({-2001, -1}).loss, 2000);
  EXPECT_EQ(loss({-2001, -1}).gradient, (Floats{1, -1}));
}

TEST_F(Objectives, WrongSizesAreOurMistake) {
  const Tensor two = losses({-1, -2});
  const auto value = [](const Tensor& loss) { return loss.host()[0]; };
  EXPECT_THROW(value(ops::weighted_sum(two, Floats{1})), CheckFailure);
  const std::vector<int> both = {0, 0};
  const Floats one = {1}, ones = {1, 1};
  EXPECT_THROW(value(ops::policy_loss(two, {one, {}, ones, both}, {})), CheckFailure);
  EXPECT_THROW(value(ops::policy_loss(two, {{}, {}, one, both}, {})), CheckFailure);
  EXPECT_THROW(ops::policy_loss(two, {{}, {}, ones, both}, {.kl_weight = 0.1}), CheckFailure);
  const std::vector<ops::PreferencePair> far = {{{0, 1}, {1, 3}, 0, 0}};
  EXPECT_THROW(value(ops::preference_loss(two, far, {})), CheckFailure);
  EXPECT_THROW(ops::preference_loss(two, far, {.label_smoothing = 0.5}), CheckFailure);
}

}  // namespace
}  // namespace nb
