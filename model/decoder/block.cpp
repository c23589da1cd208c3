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
                            const BlockContext& at) {
  const Architecture& a = at.config.architecture;
  const Tensor values = ops::embedding(*w.value_embedding, at.pass.ids(), at.pass.rows());
  Tensor gate = ops::first_columns(n, a.value_gate_channels, "attn.ve_gate");
  gate = ops::sigmoid(ops::linear(gate, *w.value_gate), "attn.ve_gate");
  gate = ops::scale(gate, a.value_gate_scale, "attn.ve_gate");
  return ops::add(v, ops::gate_heads(values, gate, "attn.ve"), "attn.ve");
}

// The steps of a block, each under the name by which listeners hear what it gives. Of nothing (a
// last layer whose rows nobody wants) they make nothing.
struct Steps {
  const BlockContext& at;

  Tensor told(const char* name, Tensor x) const {
    at.pass.tell(at.layer, name, x);
    return x;
  }
  // What the first products of a branch read: all rows, where ranks have some each.
  Tensor read(const char* name, const Tensor& normed) const {
    return told(name, at.cuts == nullptr ? normed : at.cuts->before_columns(normed));
  }
  Tensor project(const char* name, const Tensor& x, const LinearWeights& by) const {
    return x.empty() ? x : told(name, linear(x, by));
  }
  // A product that ends a branch: of cut weights its parts are added before the bias, which is
  // whole.
  Tensor join(const char* name, const Tensor& x, const LinearWeights& by) const {
    if (at.cuts == nullptr || x.empty()) return project(name, x, by);
    Tensor y = ops::linear(x, *by.weight);
    at.cuts->after_part_sum(y);
    return told(name, by.bias == nullptr ? y : ops::add_bias(y, *by.bias, by.bias->name));
  }

  // Of q and k; the old ones go when both new ones are there, as in Python.
  using Pair = std::tuple<Tensor, Tensor>;
  Pair rotary(const Tensor& q, const Tensor& k) const {
    const auto one = [&](const char* name, const Tensor& x, const ops::Positions& positions) {
      return x.empty() ? x : told(name, ops::rotary(x, at.tables, positions, name));
    };
    return {one("attn.q_rotary", q, at.pass.kept_positions(at.layer)),
            one("attn.k_rotary", k, at.pass.positions())};
  }
  Pair norm_heads(const Tensor& q, const Tensor& k) const {
    const auto one = [&](const char* name, const Tensor& x) {
      return x.empty() ? x : told(name, ops::rms_norm(x, at.config.head_dim(), name));
    };
    return {one("attn.q_norm", q), one("attn.k_norm", k)};
  }
  Pair scale_heads(const Tensor& q, const Tensor& k) const {
    const auto one = [&](const char* name, const Tensor& x) {
      return x.empty() ? x : ops::scale(x, at.config.architecture.qk_scale, name);
    };
    return {one("attn.q_scale", q), one("attn.k_scale", k)};
  }
};

Tensor attention(const Tensor& normed, const BlockWeights& w, const BlockContext& at) {
  const Architecture& a = at.config.architecture;
  const Steps step{at};
  const Tensor n = step.read("attn.norm", normed);
  Tensor q = step.project("attn.c_q", at.pass.kept(at.layer, n), w.c_q);
  Tensor k = step.project("attn.c_k", n, w.c_k);
  Tensor v = step.project("attn.c_v", n, w.c_v);
  if (w.value_embedding != nullptr) v = with_value_embedding(v, n, w, at);
  if (a.has_rotary()) std::tie(q, k) = step.rotary(q, k);
  if (a.qk_norm) std::tie(q, k) = step.norm_heads(q, k);
  if (a.qk_scale != 1) std::tie(q, k) = step.scale_heads(q, k);
  return step.join("attn.c_proj", at.pass.attend(at.layer, q, k, v), w.attn_proj);
}

Tensor activated(const Tensor& up, const Tensor& gate, MlpKind kind) {
  switch (kind) {
    case MlpKind::kReluSquared:
      return ops::relu_squared(up, "mlp.relu_squared");
    case MlpKind::kGelu:
      return ops::gelu(up, "mlp.gelu");
    case MlpKind::kSwiglu:
      return ops::multiply(gate, up, "mlp.gated");
  }
  return up;
}

Tensor mlp(const Tensor& normed, const BlockWeights& w, const BlockContext& at) {
  const MlpKind kind = at.config.architecture.mlp;
  const Steps step{at};
  const Tensor n = step.read("mlp.norm", normed);
  Tensor gate;
  if (kind == MlpKind::kSwiglu) gate = ops::silu(linear(n, w.c_gate), "mlp.silu");
  Tensor up = step.project("mlp.c_fc", n, w.c_fc);
  up = activated(up, gate, kind);
  return step.join("mlp.c_proj", up, w.mlp_proj);
}

}  // namespace

Tensor norm(const Tensor& x, const NormWeights& w, const DecoderConfig& config,
            std::string_view label) {
  const auto epsilon = static_cast<float>(config.architecture.norm_epsilon);
  if (w.bias != nullptr) return ops::layer_norm(x, *w.gain, *w.bias, epsilon, label);
  const Tensor normed = ops::rms_norm(x, x.shape().last(), label, epsilon);
  return w.gain == nullptr ? normed : ops::apply_gain(normed, *w.gain, label);
}

Tensor block(const Tensor& x, const BlockWeights& w, const BlockContext& at) {
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
