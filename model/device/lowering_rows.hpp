// What each op launches, one function a row of the table in lowering.cpp. Not for other folders.
#pragma once

#include "model/device/lowering_builder.hpp"

namespace nb {

// In eager and compiled stacks alike (lowering_common.cpp).
void lower_linear(LoweringBuilder& b);
void lower_linear_backward_input(LoweringBuilder& b);
void lower_linear_backward_weight(LoweringBuilder& b);
void lower_fused_attention(LoweringBuilder& b);
void lower_fused_attention_backward(LoweringBuilder& b);
void lower_embedding(LoweringBuilder& b);
void lower_embedding_backward(LoweringBuilder& b);
void lower_sample(LoweringBuilder& b);
void lower_kv_cache_append(LoweringBuilder& b);
void lower_grad_norm(LoweringBuilder& b);
void lower_grad_scale(LoweringBuilder& b);
void lower_fused_adamw(LoweringBuilder& b);
void lower_muon_update(LoweringBuilder& b);
void lower_zero(LoweringBuilder& b);
void lower_cast(LoweringBuilder& b);
void lower_random_init(LoweringBuilder& b);
void lower_host_to_device(LoweringBuilder& b);
void lower_device_to_host(LoweringBuilder& b);
void lower_collective(LoweringBuilder& b);

namespace eager {

// lowering_eager.cpp
void rms_norm(LoweringBuilder& b);
void rms_norm_backward(LoweringBuilder& b);
void rotary(LoweringBuilder& b);
void rotary_backward(LoweringBuilder& b);
void attention(LoweringBuilder& b);
void attention_backward(LoweringBuilder& b);
void relu_squared(LoweringBuilder& b);
void relu_squared_backward(LoweringBuilder& b);
void silu(LoweringBuilder& b);
void multiply(LoweringBuilder& b);
void add(LoweringBuilder& b);
// lowering_eager_head.cpp
void cross_entropy(LoweringBuilder& b);
void cross_entropy_backward(LoweringBuilder& b);
void softcap(LoweringBuilder& b);
void log_probabilities(LoweringBuilder& b);
void adamw(LoweringBuilder& b);
void muon_momentum(LoweringBuilder& b);
void newton_schulz(LoweringBuilder& b);

}  // namespace eager

// lowering_compiled.cpp
namespace compiled {

void rms_norm(LoweringBuilder& b);
void rms_norm_backward(LoweringBuilder& b);
void rotary(LoweringBuilder& b);
void rotary_backward(LoweringBuilder& b);
void relu_squared(LoweringBuilder& b);
void relu_squared_backward(LoweringBuilder& b);
void silu(LoweringBuilder& b);
void multiply(LoweringBuilder& b);
void add(LoweringBuilder& b);
void cross_entropy(LoweringBuilder& b);
void cross_entropy_backward(LoweringBuilder& b);
void softcap(LoweringBuilder& b);
void log_probabilities(LoweringBuilder& b);
void muon_momentum(LoweringBuilder& b);
void newton_schulz(LoweringBuilder& b);

}  // namespace compiled

}  // namespace nb
