#include "model/gpt/attention.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "model/gpt/linear_backward.hpp"
#include "model/ops/activation_buffer.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/linear_add.hpp"
#include "model/ops/rotary_norm.hpp"

namespace nb {

Tensor attention_forward(const PassContext& context, const BlockWeights& weights, Tensor n,
                         const Tensor& x, AttentionActivations& a) {
  Device& device = context.device;
  a.n = std::move(n);
  {
    const auto product = [&](const Parameter& w, SavedBlocks& saved) {
      return ops::linear(device, a.n, w.value, w.name, context.slot(saved), ops::Arithmetic::kNow,
                         ops::activation_buffer(device));
    };
    Tensor q = product(weights.c_q, a.c_q);
    Tensor k = product(weights.c_k, a.c_k);
    a.v = product(weights.c_v, a.c_v);
    const ops::Positions positions = {.time = context.time};
    a.q_turned = ops::rotary_before_norm(device, q, context.tables, positions, "attn.q_rotary",
                                         context.slot(a.q_rotary));
    a.k_turned = ops::rotary_before_norm(device, k, context.tables, positions, "attn.k_rotary",
                                         context.slot(a.k_rotary));
    k.drop_block();
    q.drop_block();
    a.q = ops::rms_norm_after_rotary(device, q, a.q_turned, context.tables, positions,
                                     "attn.q_norm", context.slot(a.q_rstd), context.slot(a.q_norm));
    q = {};
    a.k = ops::rms_norm_after_rotary(device, k, a.k_turned, context.tables, positions,
                                     "attn.k_norm", context.slot(a.k_rstd), context.slot(a.k_norm));
  }
  a.q_turned.drop_block();
  a.k_turned.drop_block();
  a.y = ops::attention(device, a.q, a.k, a.v, context.heads(), "attn",
                       context.saves ? &a.rows : nullptr, context.slot(a.attention));
  const Parameter& proj = weights.attn_proj;
  const Tensor out = ops::linear(device, a.y, proj.value, proj.name, context.slot(a.c_proj),
                                 ops::Arithmetic::kLater, HostBuffer::kNone);
  for (Tensor* local : {&a.n, &a.q, &a.k, &a.v, &a.y}) local->drop_block();
  Tensor sum = ops::add_linear(device, x, out, a.y, proj.value, "attn.add", context.slot(a.add));
  if (!context.saves) {
    for (Tensor* local : {&a.n, &a.q_turned, &a.k_turned, &a.q, &a.k, &a.v, &a.y}) *local = {};
  }
  return sum;
}

Tensor attention_backward(const PassContext& context, const BlockWeights& weights, const Tensor& dy,
                          AttentionActivations& a) {
  Device& device = context.device;
  ops::AttentionGradients d;
  {
    const Tensor d_heads = linear_backward(device, dy, a.y, weights.attn_proj, std::move(a.c_proj));
    d = ops::attention_backward(device, d_heads, a.q, a.k, a.v, a.y, context.heads(), a.rows,
                                "attn", std::move(a.attention));
  }
  a.q = {};
  a.k = {};
  a.v = {};
  a.y = {};
  const auto normed = [&](Tensor& gradient, const Tensor& turned, std::string_view label,
                          SavedBlocks& saved) {
    Tensor between = ops::rms_norm_backward_before_rotary(device, gradient, turned, context.tables,
                                                          label, std::move(saved));
    gradient.drop_block();
    return between;
  };
  Tensor dk_between = normed(d.dk, a.k_turned, "attn.k_norm", a.k_norm);
  Tensor dq_between = normed(d.dq, a.q_turned, "attn.q_norm", a.q_norm);
  const auto turned_back = [&](Tensor& between, Tensor& gradient, Tensor& turned,
                               const std::vector<float>& rstd, std::string_view label,
                               SavedBlocks& saved) {
    gradient =
        ops::rotary_backward_after_norm(device, between, gradient, turned, rstd, context.tables,
                                        context.time, label, std::move(saved));
    between = {};
    turned = {};
  };
  turned_back(dk_between, d.dk, a.k_turned, a.k_rstd, "attn.k_rotary", a.k_rotary);
  turned_back(dq_between, d.dq, a.q_turned, a.q_rstd, "attn.q_rotary", a.q_rotary);
  // Autograd runs the youngest node first: v, k, q; their gradients of n are summed in that order.
  const auto later = ops::Arithmetic::kLater;
  ops::WeightGradients of_n;
  Tensor dn = ops::linear_backward_input(device, d.dv, weights.c_v.value, weights.c_v.name,
                                         ops::Arithmetic::kNow, ops::activation_buffer(device));
  linear_backward_weight(device, d.dv, a.n, weights.c_v, std::move(a.c_v), of_n, later);
  d.dv.drop_block();
  {
    const Tensor dn_k =
        ops::linear_backward_input(device, d.dk, weights.c_k.value, weights.c_k.name, later);
    linear_backward_weight(device, d.dk, a.n, weights.c_k, std::move(a.c_k), of_n, later);
    d.dk.drop_block();
    ops::add_linear_gradient(device, dn, dn_k, d.dk, weights.c_k.value, "attn.dn");
  }
  const Tensor dn_q =
      ops::linear_backward_input(device, d.dq, weights.c_q.value, weights.c_q.name, later);
  linear_backward_weight(device, d.dq, a.n, weights.c_q, std::move(a.c_q), of_n,
                         ops::Arithmetic::kNow);
  ops::add_linear_gradient(device, dn, dn_q, d.dq, weights.c_q.value, "attn.dn");
  a.n = {};
  return dn;
}

}  // namespace nb
