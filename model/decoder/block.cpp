#include "model/decoder/block.hpp"

#include <tuple>

#include "model/ops/add.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/relu_squared.hpp"
#include "model/ops/rms_norm.hpp"

namespace nb {
namespace {

Tensor attention(const Tensor& n, const BlockWeights& w, const ops::RotaryTables& tables,
                 const ops::HeadShape& heads) {
  Tensor q = ops::linear(n, w.c_q), k = ops::linear(n, w.c_k);
  const Tensor v = ops::linear(n, w.c_v);
  const auto rotated = [&](const Tensor& x, const char* label) {
    return ops::rotary(x, tables, {.time = heads.time}, label);
  };
  std::tie(q, k) = std::tuple{rotated(q, "attn.q_rotary"), rotated(k, "attn.k_rotary")};
  std::tie(q, k) = std::tuple{ops::rms_norm(q, heads.head_dim, "attn.q_norm"),
                              ops::rms_norm(k, heads.head_dim, "attn.k_norm")};
  return ops::linear(ops::attention(q, k, v, heads, "attn"), w.attn_proj);
}

}  // namespace

Tensor mlp(const Tensor& n, const BlockWeights& w) {
  Tensor h = ops::linear(n, w.c_fc);
  h = ops::relu_squared(h, "mlp.relu_squared");
  return ops::linear(h, w.mlp_proj);
}

Tensor block(const Tensor& x, const BlockWeights& w, const ops::RotaryTables& tables,
             const ops::HeadShape& heads) {
  const std::int64_t width = x.shape().last();
  Tensor y = attention(ops::rms_norm(x, width, "attn.norm"), w, tables, heads);
  const Tensor mid = ops::add(x, y, "attn.add");
  y = {};
  y = mlp(ops::rms_norm(mid, width, "mlp.norm"), w);
  return ops::add(mid, y, "mlp.add");
}

}  // namespace nb
