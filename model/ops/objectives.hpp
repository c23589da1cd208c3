// What is trained for, formed of the losses of tokens: each op makes one number of those of
// head_losses(), (1), the root of a tape, whose gradient is that of scale × the number.
// kernels/objectives.hpp has the formulas and their sources.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/device/device.hpp"
#include "model/kernels/objectives.hpp"

namespace nb::ops {

// Σ w ℓ: a mean over some tokens (w = 1 / their number: supervised fine-tuning), or a policy
// gradient (w = advantage / (tokens × passes × examples): nanochat's chat_rl.py). weights: as many
// as losses (on a dry device any number).
Tensor weighted_sum(const Tensor& losses, std::span<const float> weights, double scale = 1);

// Policy objectives by ratios, PPO's and GRPO's kin.
using PolicyMean = kernels::PolicyMean;
using PolicyMetrics = kernels::PolicyMetrics;
using PolicyOptions = kernels::PolicyOptions;

// One number per row each; on a dry device they may be empty.
struct PolicyRows {
  std::span<const float> old_log_probs;        // empty: those of now, so that the ratio is 1
  std::span<const float> reference_log_probs;  // empty: no reference, and no kl_weight
  std::span<const float> advantages;
  std::span<const int> sequences;  // that the row belongs to; -1: it does not count
};

// Rows of a batch of sequences of `time` that have a target: the row's sequence, else -1.
std::vector<int> sequences_of(std::span<const int> targets, std::int64_t time);

// metrics: filled when the objective is read, in execute mode; may be null.
Tensor policy_loss(const Tensor& losses, const PolicyRows& rows, const PolicyOptions& options,
                   double scale = 1, std::shared_ptr<PolicyMetrics> metrics = nullptr);

// Direct preference optimisation.
using PreferenceMetrics = kernels::PreferenceMetrics;
using PreferenceOptions = kernels::PreferenceOptions;
using PreferencePair = kernels::PreferencePair;
using RowSpan = kernels::RowSpan;

// The mean over pairs; rows without a target add nothing to an answer. metrics: filled when that is
// read, in execute mode; may be null. A dry device reads the number of pairs alone.
Tensor preference_loss(const Tensor& losses, std::span<const PreferencePair> pairs,
                       const PreferenceOptions& options, double scale = 1,
                       std::shared_ptr<PreferenceMetrics> metrics = nullptr);

}  // namespace nb::ops
