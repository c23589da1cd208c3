// Σ w ℓ over the losses of tokens: a mean over some of them (w = 1 / their number: supervised
// fine-tuning), or a policy gradient (w = advantage / (tokens × passes × examples): nanochat's
// chat_rl.py).
#pragma once

#include <span>

#include "model/device/device.hpp"

namespace nb::ops {

// losses: of head_losses(), weights: as many (on a dry device any number). (1), the root of a tape:
// its gradient is that of scale × the sum.
Tensor weighted_sum(const Tensor& losses, std::span<const float> weights, double scale = 1);

}  // namespace nb::ops
