// What each op launches, one function a row of the table in lowering.cpp. Not for other folders.
#pragma once

#include "model/device/lowering_builder.hpp"

namespace nb {

inline constexpr auto fp32 = LoweringBuilder::fp32;  // bytes of so many fp32 values

// Of `count` logits that are capped, and handed on.
inline std::uint64_t logits_bytes(const LoweringBuilder& b, std::int64_t count) {
  return b.desc().caps_in_fp32 ? LoweringBuilder::fp32(count) : b.act(count);
}

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

// Activations, gains, slices: a launch or two in eager mode, one where compiled
// (lowering_pointwise.cpp).
void lower_silu(LoweringBuilder& b);
void lower_silu_backward(LoweringBuilder& b);
void lower_gelu(LoweringBuilder& b);
void lower_gelu_backward(LoweringBuilder& b);
void lower_sigmoid(LoweringBuilder& b);
void lower_sigmoid_backward(LoweringBuilder& b);
void lower_multiply(LoweringBuilder& b);
void lower_scale(LoweringBuilder& b);
void lower_scale_backward_factor(LoweringBuilder& b);
void lower_apply_gain(LoweringBuilder& b);
void lower_apply_gain_backward_gain(LoweringBuilder& b);
void lower_add_bias(LoweringBuilder& b);
void lower_add_bias_backward(LoweringBuilder& b);
void lower_layer_norm(LoweringBuilder& b);
void lower_layer_norm_backward_input(LoweringBuilder& b);
void lower_layer_norm_backward_weights(LoweringBuilder& b);
void lower_gate_heads(LoweringBuilder& b);
void lower_gate_heads_backward_gate(LoweringBuilder& b);
void lower_first_columns(LoweringBuilder& b);
void lower_first_columns_backward(LoweringBuilder& b);
void lower_previous_rows(LoweringBuilder& b);
void lower_dropout(LoweringBuilder& b);
void lower_dropout_backward(LoweringBuilder& b);

// Objectives over the losses of tokens (lowering_objectives.cpp).
void lower_weighted_sum(LoweringBuilder& b);
void lower_weighted_sum_backward(LoweringBuilder& b);
void lower_policy_loss(LoweringBuilder& b);
void lower_policy_loss_backward(LoweringBuilder& b);
void lower_preference_loss(LoweringBuilder& b);
void lower_preference_loss_backward(LoweringBuilder& b);

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
void add(LoweringBuilder& b);
void cross_entropy(LoweringBuilder& b);
void cross_entropy_backward(LoweringBuilder& b);
void softcap(LoweringBuilder& b);
void log_probabilities(LoweringBuilder& b);
void muon_momentum(LoweringBuilder& b);
void newton_schulz(LoweringBuilder& b);

}  // namespace compiled

}  // namespace nb
