// The forms of a policy objective: what is computed (model/kernels/objectives.hpp) and what a
// device launches for it (model/device/lowering_objectives.cpp). A plain value.
#pragma once

#include <cstdint>

namespace nb {

// What a token's probability ratio r and its advantage A become.
enum class PolicyForm : std::uint8_t {
  kClippedRatio,    // -min(r A, clip(r, 1 - low, 1 + high) A)   (PPO, GRPO)
  kSequenceRatio,   // the same with one r a sequence, exp of the mean of its log r (GSPO,
                    // arXiv:2507.18071)
  kSoftGate,        // -4/τ σ(τ (r - 1)) A, τ by the sign of A (SAPO, arXiv:2511.20347)
  kCappedConstant,  // -min(r, 1 + high) A log p, of which log p alone has a gradient (CISPO,
                    // arXiv:2506.13585)
};

}  // namespace nb
