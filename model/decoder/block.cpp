#include "model/decoder/block.hpp"

#include <tuple>

#include "model/ops/activations.hpp"
#include "model/ops/elementwise.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/norms.hpp"
#include "model/ops/rows.hpp"

namespace nb {
namespace {

// v + scale · σ(W_gate n[: channels]) · table[token], one gate a key-value head.
Tensor with_value_embedding(const Tensor& v, const Tensor& n, const BlockWeights& w,
                            const BlockPlace& at) {
  const Architecture& a = at.config.architecture;
  const Tensor values = ops::embedding(*w.value_embedding, at.pass.ids(), at.pass.rows());
  Tensor gate = ops::first_columns(n, a.value_gate_channels, "attn.ve_gate");
  gate = ops::sigmoid(ops::linear(gate, *w.value_gate), "attn.ve_gate");
  gate = ops::scale(gate, a.value_gate_scale, "attn.ve_gate");
  return ops::add(v, ops::gate_heads(values, gate, "attn.ve"), "attn.ve");
}

// A product that ends a branch: of cut weights its parts are added before the bias, which is whole.
Tensor joined(const Tensor& x, const LinearWeights& by, Cuts* cuts) {
  if (cuts == nullptr) return linear(x, by);
  Tensor y = ops::linear(x, *by.weight);
  cuts->after_part_sum(y);
  return by.bias == nullptr ? y : ops::add_bias(y, *by.bias, by.bias->name);
}

Tensor attention(const Tensor& normed_x, const BlockWeights& w, const BlockPlace& at) {
  const Tensor n = at.cuts == nullptr ? normed_x : at.cuts->before_columns(normed_x);
  const Architecture& a = at.config.architecture;
  const auto rotated = [&](const Tensor& x, const ops::Positions& positions, const char* label) {
    return x.empty() ? x : ops::rotary(x, at.tables, positions, label);
  };
  const auto normed = [&](const Tensor& x, const char* label) {
    return x.empty() ? x : ops::rms_norm(x, at.config.head_dim(), label);
  };
  const auto scaled = [&](const Tensor& x, const char* label) {
    return x.empty() ? x : ops::scale(x, a.qk_scale, label);
  };
  const auto project = [](const Tensor& x, const LinearWeights& by) {
    return x.empty() ? x : linear(x, by);
  };
  const auto tell = [&](const char* op, const Tensor& x) { at.pass.tell(at.layer, op, x); };
  Tensor q = project(at.pass.kept(at.layer, n), w.c_q), k = linear(n, w.c_k);
  Tensor v = linear(n, w.c_v);
  tell("attn.norm", n), tell("attn.c_q", q), tell("attn.c_k", k), tell("attn.c_v", v);
  if (w.value_embedding != nullptr) v = with_value_embedding(v, n, w, at);
  if (a.has_rotary())
    std::tie(q, k) = std::tuple{rotated(q, at.pass.kept_positions(at.layer), "attn.q_rotary"),
                                rotated(k, at.pass.positions(), "attn.k_rotary")};
  if (a.has_rotary()) tell("attn.q_rotary", q), tell("attn.k_rotary", k);
  if (a.qk_norm) std::tie(q, k) = std::tuple{normed(q, "attn.q_norm"), normed(k, "attn.k_norm")};
  if (a.qk_norm) tell("attn.q_norm", q), tell("attn.k_norm", k);
  if (a.qk_scale != 1)
    std::tie(q, k) = std::tuple{scaled(q, "attn.q_scale"), scaled(k, "attn.k_scale")};
  const auto join = [&](const Tensor& x, const LinearWeights& by) {
    return x.empty() ? x : joined(x, by, at.cuts);
  };
  const Tensor y = join(at.pass.attend(at.layer, q, k, v), w.attn_proj);
  tell("attn.c_proj", y);
  return y;
}

Tensor mlp(const Tensor& normed_x, const BlockWeights& w, const BlockPlace& at) {
  const MlpKind kind = at.config.architecture.mlp;
  const Tensor n = at.cuts == nullptr ? normed_x : at.cuts->before_columns(normed_x);
  at.pass.tell(at.layer, "mlp.norm", n);
  Tensor h;
  if (kind == MlpKind::kSwiglu) h = ops::silu(linear(n, w.c_gate), "mlp.silu");
  Tensor up = linear(n, w.c_fc);
  at.pass.tell(at.layer, "mlp.c_fc", up);
  switch (kind) {
    case MlpKind::kReluSquared:
      up = ops::relu_squared(up, "mlp.relu_squared");
      break;
    case MlpKind::kGelu:
      up = ops::gelu(up, "mlp.gelu");
      break;
    case MlpKind::kSwiglu:
      up = ops::multiply(h, up, "mlp.gated");
      break;
  }
  const Tensor y = joined(up, w.mlp_proj, at.cuts);
  at.pass.tell(at.layer, "mlp.c_proj", y);
  return y;
}

}  // namespace

Tensor norm(const Tensor& x, const NormWeights& w, const DecoderConfig& config,
            std::string_view label) {
  const auto epsilon = static_cast<float>(config.architecture.norm_epsilon);
  if (w.bias != nullptr) return ops::layer_norm(x, *w.gain, *w.bias, epsilon, label);
  const Tensor normed = ops::rms_norm(x, x.shape().last(), label, epsilon);
  return w.gain == nullptr ? normed : ops::apply_gain(normed, *w.gain, label);
}

Tensor block(const Tensor& x, const BlockWeights& w, const BlockPlace& at) {
  Tensor y = attention(norm(x, w.ln_1, at.config, "attn.norm"), w, at);
  if (y.empty()) return {};
  const Tensor mid = ops::add(at.pass.kept(at.layer, x), y, "attn.add");
  y = {};
  y = mlp(norm(mid, w.ln_2, at.config, "mlp.norm"), w, at);
  const Tensor out = ops::add(mid, y, "mlp.add");
  at.pass.tell(at.layer, "", out);
  return out;
}

}  // namespace nb
