// Policy objectives by ratios, PPO's and GRPO's kin, over the losses of tokens;
// kernels/objectives.hpp has the formula and its sources.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "model/device/device.hpp"
#include "model/kernels/objectives.hpp"

namespace nb::ops {

using PolicyMean = kernels::PolicyMean;
using PolicyMetrics = kernels::PolicyMetrics;
using PolicyOptions = kernels::PolicyOptions;

// One number a row each; on a dry device they may be empty.
struct PolicyRows {
  std::span<const float> old_log_probs;        // empty: those of now, so that the ratio is 1
  std::span<const float> reference_log_probs;  // empty: no reference, and no kl_weight
  std::span<const float> advantages;
  std::span<const int> sequences;  // that the row belongs to; -1: it does not count
};

// Rows of a batch of sequences of `time` that have a target: the row's sequence, else -1.
std::vector<int> sequences_of(std::span<const int> targets, std::int64_t time);

// losses: of head_losses(). (1), the root of a tape: its gradient is that of scale × the objective.
// metrics: filled when the objective is read, in execute mode; may be null.
Tensor policy_loss(const Tensor& losses, const PolicyRows& rows, const PolicyOptions& options,
                   double scale = 1, std::shared_ptr<PolicyMetrics> metrics = nullptr);

}  // namespace nb::ops
