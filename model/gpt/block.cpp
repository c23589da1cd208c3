#include "model/gpt/block.hpp"

#include <utility>

#include "model/gpt/attention.hpp"
#include "model/gpt/mlp.hpp"
#include "model/ops/rms_norm.hpp"

namespace nb {

Tensor block_forward(const PassContext& context, const BlockWeights& weights, Tensor x,
                     BlockActivations& a) {
  Device& device = context.device;
  const std::int64_t width = context.config.n_embd;
  a.x = std::move(x);
  ops::SumAndNorm mid;
  {
    Tensor n = ops::rms_norm(device, a.x, width, "attn.norm", context.slot(a.x_rstd),
                             context.slot(a.x_norm));
    Tensor out = attention_forward(context, weights, std::move(n), a.attention);
    mid = ops::add_rms_norm(device, a.x, std::move(out), width, "attn.add", "mlp.norm",
                            context.slot(a.mid_rstd), context.slot(a.attention_add),
                            context.slot(a.mid_norm));
    a.mid = std::move(mid.sum);
  }
  Tensor y = mlp_forward(context, weights, std::move(mid.norm), a.mid, a.mlp);
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
  a.attention_add.free();
  {
    const Tensor dn = attention_backward(context, weights, dx, a.attention);
    ops::rms_norm_backward_add(device, dn, a.x, width, a.x_rstd, "attn.norm", std::move(a.x_norm),
                               dx, "attn.dx");
  }
  a.x = {};
  return dx;
}

}  // namespace nb
