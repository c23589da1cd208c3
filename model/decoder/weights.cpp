#include "model/decoder/weights.hpp"

#include <map>

#include "model/ops/elementwise.hpp"
#include "model/ops/linear.hpp"

namespace nb {
namespace {

class ByName {
 public:
  explicit ByName(std::vector<Parameter>& parameters) {
    for (Parameter& p : parameters) known_[p.name] = &p;
  }
  Parameter* operator()(const std::string& name) const {
    const auto found = known_.find(name);
    return found == known_.end() ? nullptr : found->second;
  }
  LinearWeights linear(const std::string& name) const {
    return {.weight = (*this)(name + ".weight"), .bias = (*this)(name + ".bias")};
  }
  NormWeights norm(const std::string& name) const {
    return {(*this)(name + ".weight"), (*this)(name + ".bias")};
  }

 private:
  std::map<std::string, Parameter*> known_;
};

BlockWeights block_of(const ByName& named, std::int64_t layer) {
  const std::string h = "transformer.h." + std::to_string(layer);
  return {.ln_1 = named.norm(h + ".ln_1"),
          .ln_2 = named.norm(h + ".ln_2"),
          .c_q = named.linear(h + ".attn.c_q"),
          .c_k = named.linear(h + ".attn.c_k"),
          .c_v = named.linear(h + ".attn.c_v"),
          .attn_proj = named.linear(h + ".attn.c_proj"),
          .c_gate = named.linear(h + ".mlp.c_gate"),
          .c_fc = named.linear(h + ".mlp.c_fc"),
          .mlp_proj = named.linear(h + ".mlp.c_proj"),
          .value_embedding = named("value_embeds." + std::to_string(layer) + ".weight"),
          .value_gate = named(h + ".attn.ve_gate.weight")};
}

// The mask is a function of seed, step, pass, adapter and element: a recomputed block draws the
// same.
Tensor dropped(const Tensor& x, const LoraAdapter& adapter) {
  if (adapter.dropout == nullptr || !adapter.dropout->is_on) return x;
  const LoraDropout& d = *adapter.dropout;
  const std::string purpose = "dropout/" + adapter.a->name + "/" + std::to_string(d.pass);
  return ops::dropout(x, d.rate, Rng(d.seed, purpose, static_cast<std::uint64_t>(d.step)),
                      adapter.a->name);
}

}  // namespace

DecoderWeights weights_of(const DecoderConfig& config, std::vector<Parameter>& parameters) {
  const ByName named(parameters);
  DecoderWeights w = {.wte = named("transformer.wte.weight"),
                      .wpe = named("transformer.wpe.weight"),
                      .blocks = {},
                      .ln_f = named.norm("transformer.ln_f"),
                      .lm_head = named("lm_head.weight"),
                      .resid_lambdas = named("resid_lambdas"),
                      .x0_lambdas = named("x0_lambdas"),
                      .smear_gate = named("smear_gate.weight"),
                      .smear_lambda = named("smear_lambda"),
                      .backout_lambda = named("backout_lambda")};
  if (w.lm_head == nullptr) w.lm_head = w.wte;
  for (std::int64_t i = 0; i < config.n_layer; ++i) w.blocks.push_back(block_of(named, i));
  return w;
}

Tensor linear(const Tensor& x, const LinearWeights& w) {
  Tensor y = ops::linear(x, *w.weight);
  if (w.bias != nullptr) y = ops::add_bias(y, *w.bias, w.bias->name);
  if (w.adapter.a == nullptr) return y;
  const Tensor low = ops::linear(ops::linear(dropped(x, w.adapter), *w.adapter.a), *w.adapter.b);
  return ops::add(y, ops::scale(low, w.adapter.scale, w.adapter.b->name), w.adapter.b->name);
}

}  // namespace nb
