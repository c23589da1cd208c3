#include "model/gpt/block.hpp"

#include <utility>

#include "model/gpt/attention.hpp"
#include "model/gpt/mlp.hpp"
#include "model/ops/activation_buffer.hpp"
#include "model/ops/rms_norm.hpp"

namespace nb {

Tensor block_forward(const PassContext& context, const BlockWeights& weights, Tensor x,
                     BlockActivations& a) {
  Device& device = context.device;
  const std::int64_t width = context.config.n_embd;
  a.x = std::move(x);
  const HostBuffer host = ops::activation_buffer(device);
  Tensor n = ops::rms_norm(device, a.x, width, "attn.norm", context.slot(a.x_rstd),
                           context.slot(a.x_norm), host);
  a.mid = attention_forward(context, weights, std::move(n), a.x, a.attention);
  n = ops::rms_norm(device, a.mid, width, "mlp.norm", context.slot(a.mid_rstd),
                    context.slot(a.mid_norm), host);
  Tensor y = mlp_forward(context, weights, std::move(n), a.mid, a.mlp);
  for (Tensor* local : {&a.x, &a.mid}) {
    local->drop_block();
    if (!context.saves) *local = {};
  }
  return y;
}

Tensor block_backward(const PassContext& context, const BlockWeights& weights, Tensor dx,
                      BlockActivations& a) {
  Device& device = context.device;
  const std::int64_t width = context.config.n_embd;
  a.mlp.add.free();
  {
    const Tensor dn = mlp_backward(context, weights, dx, a.mlp);
    ops::rms_norm_backward_add(device, dn, a.mid, width, a.mid_rstd, "mlp.norm",
                               std::move(a.mid_norm), dx, "mlp.dx");
  }
  a.mid = {};
  a.attention.add.free();
  {
    const Tensor dn = attention_backward(context, weights, dx, a.attention);
    ops::rms_norm_backward_add(device, dn, a.x, width, a.x_rstd, "attn.norm", std::move(a.x_norm),
                               dx, "attn.dx");
  }
  a.x = {};
  return dx;
}

}  // namespace nb
