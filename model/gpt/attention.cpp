#include "model/gpt/attention.hpp"

#include <utility>

#include "model/gpt/linear_backward.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/pointwise.hpp"
#include "model/ops/rms_norm.hpp"
#include "model/ops/rotary.hpp"

namespace nb {

Tensor attention_forward(const PassContext& context, const BlockWeights& weights, Tensor n,
                         AttentionActivations& a) {
  Device& device = context.device;
  const std::int64_t width = context.config.head_dim();
  a.n = std::move(n);
  {
    const Tensor q =
        ops::linear(device, a.n, weights.c_q.value, weights.c_q.name, context.slot(a.c_q));
    const Tensor k =
        ops::linear(device, a.n, weights.c_k.value, weights.c_k.name, context.slot(a.c_k));
    a.v = ops::linear(device, a.n, weights.c_v.value, weights.c_v.name, context.slot(a.c_v));
    a.q_turned = ops::rotary(device, q, context.tables, context.time, "attn.q_rotary",
                             context.slot(a.q_rotary));
    a.k_turned = ops::rotary(device, k, context.tables, context.time, "attn.k_rotary",
                             context.slot(a.k_rotary));
  }
  a.q = ops::rms_norm(device, a.q_turned, width, "attn.q_norm", context.slot(a.q_rstd),
                      context.slot(a.q_norm));
  a.k = ops::rms_norm(device, a.k_turned, width, "attn.k_norm", context.slot(a.k_rstd),
                      context.slot(a.k_norm));
  a.q_turned.drop_block();
  a.k_turned.drop_block();
  a.y = ops::attention(device, a.q, a.k, a.v, context.heads(), "attn",
                       context.saves ? &a.rows : nullptr, context.slot(a.attention));
  Tensor out = ops::linear(device, a.y, weights.attn_proj.value, weights.attn_proj.name,
                           context.slot(a.c_proj));
  for (Tensor* local : {&a.n, &a.q, &a.k, &a.v, &a.y}) local->drop_block();
  if (!context.saves) {
    for (Tensor* local : {&a.n, &a.q_turned, &a.k_turned, &a.q, &a.k, &a.v, &a.y}) *local = {};
  }
  return out;
}

Tensor attention_backward(const PassContext& context, const BlockWeights& weights, const Tensor& dy,
                          AttentionActivations& a) {
  Device& device = context.device;
  const std::int64_t width = context.config.head_dim();
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
  d.dk = ops::rms_norm_backward(device, d.dk, a.k_turned, width, a.k_rstd, "attn.k_norm",
                                std::move(a.k_norm));
  d.dq = ops::rms_norm_backward(device, d.dq, a.q_turned, width, a.q_rstd, "attn.q_norm",
                                std::move(a.q_norm));
  a.q_turned = {};
  a.k_turned = {};
  d.dk = ops::rotary_backward(device, d.dk, context.tables, context.time, "attn.k_rotary",
                              std::move(a.k_rotary));
  d.dq = ops::rotary_backward(device, d.dq, context.tables, context.time, "attn.q_rotary",
                              std::move(a.q_rotary));
  // Autograd runs the youngest node first: v, k, q; their gradients of n are summed in that order.
  Tensor dn = linear_backward(device, d.dv, a.n, weights.c_v, std::move(a.c_v));
  d.dv = {};
  {
    const Tensor dn_k = linear_backward(device, d.dk, a.n, weights.c_k, std::move(a.c_k));
    d.dk = {};
    ops::add_gradient(device, dn, dn_k, "attn.dn");
  }
  const Tensor dn_q = linear_backward(device, d.dq, a.n, weights.c_q, std::move(a.c_q));
  ops::add_gradient(device, dn, dn_q, "attn.dn");
  a.n = {};
  return dn;
}

}  // namespace nb
