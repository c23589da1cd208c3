// The language-model head: logits = soft-cap(x wᵀ), cross-entropy, gradients; w may be the table of
// the embedding too (a tied head). The device makes the
// whole (rows, V) logits; the host works them off in blocks of rows, whose size changes no bit
// (kernels/lm_head.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/device/device.hpp"
#include "model/tensor/view.hpp"

namespace nb::ops {

inline constexpr float kSoftcap = 15.0F;  // nanochat's gpt.py

struct HeadOptions {
  float softcap = kSoftcap;  // 0: none
  // Logits are upcast to fp32 before the cap, and stay fp32 (nanochat since 2025-12-08).
  bool caps_in_fp32 = false;
  // Rows of w that are tokens, the first ones; 0: all. The rest is padding: the device multiplies
  // by it too and slices it off; its gradient is zero.
  std::int64_t vocab = 0;
};

// Host memory that one call leaves to the next, so that steps do not allocate.
struct HeadScratch {
  std::vector<float> logits, gathered;
};

// x (rows, C), w (V,C), targets (rows), -1: ignored. losses: one per row in nat, filled in execute
// mode. The loss that the device forms is their mean (is_mean) or stays one per row.
void head_losses(Device& device, const Tensor& x, const Tensor& w, std::span<const int> targets,
                 bool is_mean, std::span<float> losses, const HeadOptions& options = {});

// Mean loss over the rows whose target is not -1, (1) in nat, summed in double in row order; 0
// without any valid target. Its gradient is that of scale × the mean.
Tensor head_loss(const Tensor& x, Parameter& w, std::span<const int> targets, double scale,
                 const HeadOptions& options = {});

// The loss of every row (rows) in nat, 0 where the target is -1: what an objective is formed of
// (objectives.hpp). Its gradient takes that of each loss.
Tensor head_losses(const Tensor& x, Parameter& w, std::span<const int> targets,
                   const HeadOptions& options = {});

// Capped logits of the wanted rows (ascending; empty: all) in the storage dtype, in blocks: logits
// row i is row wanted[first + i] of x. Runs the device's op on all rows.
using LogitRows = std::function<void(std::int64_t first, ConstMatrix logits)>;
void head_logits(Device& device, const Tensor& x, const Tensor& w,
                 std::span<const std::int64_t> wanted, const LogitRows& sink, HeadScratch& scratch,
                 const HeadOptions& options = {});

// Log-probability of each row's target (-1: 0) and first most likely token (-1 where the target is
// -1; the span may be empty). Left alone on a dry device.
void head_scores(Device& device, const Tensor& x, const Tensor& w, std::span<const int> targets,
                 std::span<float> log_probs, std::span<int> argmax,
                 const HeadOptions& options = {});

}  // namespace nb::ops
