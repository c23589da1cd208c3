// Advantages of samples that answer one prompt: rewards compared within a group. And signs that a
// run of reinforcement learning learns nothing or from the wrong samples. Pure functions, double.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/ops/objectives.hpp"

namespace nb {

// mean:          r - mean                          (nanochat's chat_rl.py; Dr. GRPO)
// mean_std:      (r - mean) / (std + 1e-8), std by n - 1   (GRPO, arXiv:2402.03300, as modelscope/
//                twinkle computes it)
// leave_one_out: r - the mean of the others        (RLOO, arXiv:2402.14740)
// none:          r
enum class AdvantageKind : std::uint8_t { kMean, kMeanStd, kLeaveOneOut, kNone };

std::string_view name(AdvantageKind kind);

// rewards: groups of `group_size`, one behind the other. A group whose rewards are all equal has
// advantages of exactly 0 (but for `none`). Bad input: no whole groups, and a group of one, which
// has nothing to compare (but for `none`).
Result<std::vector<double>> group_advantages(std::span<const double> rewards,
                                             std::int64_t group_size, AdvantageKind kind);

// Share of groups whose rewards are all equal: they teach nothing.
double equal_reward_share(std::span<const double> rewards, std::int64_t group_size);

// Whether the ratio has not moved in an update after the first of its samples: old
// log-probabilities were computed by the weights that are trained, or nothing is trained, and the
// clip does nothing. `update`: 0 is the first, whose ratios are 1 in any case.
bool is_ratio_stuck(const ops::PolicyMetrics& metrics, std::int64_t update);

// Optimizer steps since the weights that drew a sample were the trained ones; the largest of a
// batch. A sampler that is never given new weights grows older with every step.
std::int64_t sampler_age(std::span<const std::int64_t> steps_of_samples, std::int64_t step);

}  // namespace nb
