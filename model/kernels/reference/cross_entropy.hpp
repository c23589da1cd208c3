// Naive definitions of soft-cap, cross-entropy and scoring. Same parameters as
// kernels/cross_entropy.hpp.
#pragma once

#include "model/kernels/cross_entropy.hpp"

namespace nb::kernels::reference {

void softcap_cross_entropy(ConstMatrix logits, std::span<const int> targets,
                           std::span<float> losses, const CrossEntropySaved& saved,
                           const CrossEntropySettings& settings);
void softcap_cross_entropy_backward(ConstMatrix logits, std::span<const int> targets,
                                    std::span<const float> row_max, std::span<const float> row_sum,
                                    const LossGradients& dlosses, Matrix dlogits,
                                    const CrossEntropySettings& settings);
void softcap(ConstMatrix logits, Matrix out, const CrossEntropySettings& settings);
void score_targets(ConstMatrix logits, std::span<const int> targets, std::span<float> log_probs,
                   std::span<int> argmax, const CrossEntropySettings& settings);

}  // namespace nb::kernels::reference
