// What is formed of the losses of single tokens (ℓ = -log p of the token, nat): one number and its
// gradient. Everything in double, row by row in their order, then rounded to fp32 once; own
// exponentials and logarithms (harness/base/portable_math.hpp). Plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "model/tensor/policy_form.hpp"

namespace nb::kernels {

// Σ w ℓ.
struct WeightedSum {
  std::vector<float> weights;  // one per row
};

// What the token losses of a policy objective are divided by.
enum class PolicyMean : std::uint8_t {
  kSequences,  // the mean over a sequence's tokens, then over sequences (GRPO, arXiv:2402.03300)
  kTokens,     // the mean over all tokens (DAPO, arXiv:2503.14476)
  kSum,        // PolicyOptions::divisor (Dr. GRPO, arXiv:2503.20783: sequences × longest answer)
};

struct PolicyOptions {
  double clip_low = 0.2, clip_high = 0.2;  // the ratio is clipped to [1 - low, 1 + high]
  double kl_weight = 0;                    // of the divergence from a reference
  PolicyMean mean = PolicyMean::kSequences;
  PolicyForm form = PolicyForm::kClippedRatio;
  double gate_up = 1, gate_down = 1;  // τ of tokens with A > 0, and of the others
  double divisor = 1;
  // Of kSequences: how many there are, also those without a token, whose term is 0 (Twinkle's and
  // trl's mean over a batch); 0: those with a token.
  std::int64_t sequences = 0;
};

// Of the rows that the objective counts. Ratios: p / p_old, of the sequence where it has one.
struct PolicyMetrics {
  std::int64_t tokens = 0;
  double ratio_min = 0, ratio_max = 0, ratio_mean = 0;
  // Tokens whose gradient the clip cuts off, or whose ratio is capped.
  double clip_low_fraction = 0, clip_high_fraction = 0;
  double old_kl = 0, reference_kl = 0;  // means of k3(log p - log p_old), k3(log p_ref - log p)
};

// A policy objective by ratios (PPO, arXiv:1707.06347; GRPO, arXiv:2402.03300), per token
//   d = log p - log p_old, within ±20;  r = exp(d)
//   what PolicyForm makes of r and A + kl_weight k3(log p_ref - log p)
//   k3(x) = exp(x) - x - 1   (Schulman 2020, "Approximating KL Divergence")
// The bound of 20 is Twinkle's (modelscope/twinkle, GRPOLoss); beyond it the gradient of d is 0.
struct PolicyObjective {
  PolicyOptions options;
  std::vector<float> old_log_probs;        // empty: those of now, r = 1 with its gradient
  std::vector<float> reference_log_probs;  // empty: no reference
  std::vector<float> advantages;           // A
  std::vector<int> sequences;              // that a row belongs to; -1: a row that does not count
  std::shared_ptr<PolicyMetrics> metrics;  // filled, where there are any
};

// Rows [begin, end).
struct RowSpan {
  std::int64_t begin = 0, end = 0;
};
struct PreferencePair {
  RowSpan chosen, rejected;
  double reference_chosen = 0, reference_rejected = 0;  // log p of the whole answers
};

struct PreferenceOptions {
  double beta = 0.1;
  double label_smoothing = 0;  // share of pairs whose preference is taken for wrong, [0, 0.5)
};

// Rewards: β (log p - log p_ref) of an answer. Means over pairs.
struct PreferenceMetrics {
  std::int64_t pairs = 0;
  double chosen_reward = 0, rejected_reward = 0;
  double margin = 0;    // chosen - rejected
  double accuracy = 0;  // share of pairs with a margin above 0
};

// Direct preference optimisation (arXiv:2305.18290), the mean over pairs of
//   -(1 - ε) log σ(z) - ε log σ(-z),  z = the margin, ε the label smoothing
// (smoothing: Mitchell 2023, "A note on DPO with noisy preferences"). log p of an answer is -Σ ℓ.
struct PreferenceObjective {
  PreferenceOptions options;
  std::vector<PreferencePair> pairs;
  std::shared_ptr<PreferenceMetrics> metrics;  // filled, where there are any
};

// gradient: scale × that of the number, one per row; empty: nobody wants it.
float objective_loss(const WeightedSum& sum, std::span<const float> losses, double scale,
                     std::span<float> gradient);
float objective_loss(const PolicyObjective& policy, std::span<const float> losses, double scale,
                     std::span<float> gradient);
float objective_loss(const PreferenceObjective& preference, std::span<const float> losses,
                     double scale, std::span<float> gradient);

using Objective = std::variant<WeightedSum, PolicyObjective, PreferenceObjective>;

}  // namespace nb::kernels
