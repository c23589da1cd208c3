#include "model/decoder/parameters.hpp"

#include <algorithm>
#include <utility>

#include "harness/base/portable_math.hpp"
#include "harness/base/rng.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

using Kind = FirstValues::Kind;

FirstValues all(double value) { return {Kind::kRamp, value, value}; }
FirstValues normal(double deviation) { return {Kind::kNormal, 0, deviation}; }
FirstValues uniform(double bound) { return {Kind::kUniform, -bound, bound}; }
FirstValues ramp(double first, double last) { return {Kind::kRamp, first, last}; }

// Which rule gives the first values. Each is that of the code that the preset follows.
enum class InitRule {
  kNanochat,         // nanochat's gpt.py @ 3a5e0bc: N(0, 1/in · min(1, out/in)), block ends zero
  kNanochat2026_02,  // @ 124f49b: uniform of that deviation
  kNanochat2026_07,  // @ 92d63d4: smaller c_fc and embedding, lambdas that fall with the layer
  kGpt2,             // N(0, 0.02²), less where a block ends (openai/gpt-2, llama2.c's model.py)
};

InitRule rule_of(const Architecture& a) {
  if (a.residual_lambdas) return a.smear ? InitRule::kNanochat2026_07 : InitRule::kNanochat2026_02;
  return a.embedding_norm ? InitRule::kNanochat : InitRule::kGpt2;
}

class Lister {
 public:
  explicit Lister(const DecoderConfig& config)
      : config_(config), a_(config.architecture), rule_(rule_of(a_)) {}

  std::vector<ParameterSpec> operator()() {
    tables();
    for (std::int64_t i = 0; i < config_.n_layer; ++i) block(i);
    if (a_.norm != NormKind::kRms) norm("transformer.ln_f");
    if (!a_.tied_head) head();
    if (a_.residual_lambdas) lambdas();
    if (a_.smear) smear();
    if (a_.backout) push("backout_lambda", ParameterRole::kVector, {1}, all(0.2));
    return std::move(specs_);
  }

 private:
  void push(std::string name, ParameterRole role, Shape shape, FirstValues values,
            bool is_multiplied = false) {
    specs_.push_back({std::move(name), role, shape, values, is_multiplied});
  }

  void tables() {
    const std::int64_t rows = config_.table_rows(), width = config_.n_embd;
    const double deviation = rule_ == InitRule::kGpt2              ? 0.02
                             : rule_ == InitRule::kNanochat2026_07 ? 0.8
                                                                   : 1.0;
    push("transformer.wte.weight", ParameterRole::kEmbedding, {rows, width}, normal(deviation),
         a_.tied_head);
    if (a_.positions == PositionKind::kLearned)
      push("transformer.wpe.weight", ParameterRole::kEmbedding, {config_.sequence_len, width},
           normal(0.02));
    for (std::int64_t i = 0; i < config_.n_layer; ++i)
      if (config_.has_value_embedding(i))
        push("value_embeds." + std::to_string(i) + ".weight", ParameterRole::kValueEmbedding,
             {rows, config_.kv_width()}, uniform(unit_bound()));
  }

  double unit_bound() const { return pm::sqrt(3.0 / static_cast<double>(config_.n_embd)); }

  // A product inside a block; the last one of a branch adds to the residual stream.
  void linear(const std::string& name, std::int64_t out, std::int64_t in, bool ends_branch) {
    push(name + ".weight", ParameterRole::kMatrix, {out, in}, of_matrix(name, out, in, ends_branch),
         true);
    if (a_.biases) push(name + ".bias", ParameterRole::kVector, {out}, {});
  }

  FirstValues of_matrix(const std::string& name, std::int64_t out, std::int64_t in,
                        bool ends_branch) const {
    if (rule_ == InitRule::kGpt2)
      return normal(ends_branch ? 0.02 / pm::sqrt(2.0 * static_cast<double>(config_.n_layer))
                                : 0.02);
    if (ends_branch) return {};
    if (rule_ == InitRule::kNanochat2026_07)
      return uniform(name.ends_with(".c_fc") ? 0.4 * unit_bound() : unit_bound());
    if (rule_ == InitRule::kNanochat2026_02) return uniform(unit_bound());
    const auto outs = static_cast<double>(out), ins = static_cast<double>(in);
    return normal(1.0 / pm::sqrt(ins) * std::min(1.0, pm::sqrt(outs / ins)));
  }

  void norm(const std::string& name) {
    push(name + ".weight", ParameterRole::kVector, {config_.n_embd}, all(1));
    if (a_.norm == NormKind::kLayer)
      push(name + ".bias", ParameterRole::kVector, {config_.n_embd}, {});
  }

  void block(std::int64_t i) {
    const std::string h = "transformer.h." + std::to_string(i);
    const std::int64_t width = config_.n_embd, q = config_.q_width(), kv = config_.kv_width();
    const bool has_gain = a_.norm != NormKind::kRms;
    if (has_gain) norm(h + ".ln_1");
    linear(h + ".attn.c_q", q, width, false);
    linear(h + ".attn.c_k", kv, width, false);
    linear(h + ".attn.c_v", kv, width, false);
    linear(h + ".attn.c_proj", width, q, true);
    if (config_.has_value_embedding(i))
      push(h + ".attn.ve_gate.weight", ParameterRole::kVector,
           {config_.n_kv_head, a_.value_gate_channels},
           rule_ == InitRule::kNanochat2026_07 ? FirstValues{Kind::kUniform, 0, 0.02}
                                               : FirstValues{},
           true);
    if (has_gain) norm(h + ".ln_2");
    if (a_.mlp == MlpKind::kSwiglu) linear(h + ".mlp.c_gate", config_.hidden(), width, false);
    linear(h + ".mlp.c_fc", config_.hidden(), width, false);
    linear(h + ".mlp.c_proj", width, config_.hidden(), true);
  }

  void head() {
    const FirstValues values = rule_ == InitRule::kNanochat ? FirstValues{}
                               : rule_ == InitRule::kGpt2   ? normal(0.02)
                                                            : normal(0.001);
    push("lm_head.weight", ParameterRole::kUnembedding, {config_.table_rows(), config_.n_embd},
         values, true);
  }

  void lambdas() {
    const bool is_ramp = rule_ == InitRule::kNanochat2026_07;
    push("resid_lambdas", ParameterRole::kVector, {config_.n_layer},
         is_ramp ? ramp(1.15, 1.05) : all(1));
    push("x0_lambdas", ParameterRole::kVector, {config_.n_layer},
         is_ramp ? ramp(0.20, 0.05) : all(0.1));
  }

  void smear() {
    push("smear_gate.weight", ParameterRole::kVector, {1, kSmearChannels},
         {Kind::kUniform, 0, 0.02}, true);
    push("smear_lambda", ParameterRole::kVector, {1}, {});
  }

  const DecoderConfig& config_;
  const Architecture& a_;
  InitRule rule_;
  std::vector<ParameterSpec> specs_;
};

double first_value(const FirstValues& values, const Rng& rng, std::int64_t i, std::int64_t count) {
  const auto index = static_cast<std::uint64_t>(i);
  switch (values.kind) {
    case Kind::kZero:
      return 0;
    case Kind::kNormal:
      return rng.normal(index) * values.second;
    case Kind::kUniform:
      return values.first + (values.second - values.first) * rng.uniform(index);
    case Kind::kRamp:
      return values.first + (values.second - values.first) * static_cast<double>(i) /
                                static_cast<double>(std::max<std::int64_t>(count - 1, 1));
  }
  return 0;
}

}  // namespace

std::vector<ParameterSpec> parameter_specs(const DecoderConfig& config) { return Lister(config)(); }

std::vector<Parameter> make_parameters(const std::vector<ParameterSpec>& specs, Device& device) {
  std::vector<Parameter> parameters;
  for (const ParameterSpec& spec : specs) {
    const bool is_table =
        spec.role == ParameterRole::kEmbedding || spec.role == ParameterRole::kValueEmbedding;
    const DType dtype = is_table ? device.numerics().embedding_weight : DType::kFp32;
    parameters.push_back({.name = spec.name,
                          .role = spec.role,
                          .value = device.allocate(spec.shape, dtype, spec.name, Lifetime::kPassing,
                                                   BlockUse::kParameter)});
  }
  return parameters;
}

void init_parameters(const std::vector<ParameterSpec>& specs, std::vector<Parameter>& parameters,
                     Device& device, std::uint64_t seed) {
  for (std::size_t k = 0; k < specs.size(); ++k) {
    Parameter& p = parameters[k];
    const FirstValues& values = specs[k].first_values;
    if (values.kind == Kind::kZero) {
      ops::zero(device, p.value, p.name);
      continue;
    }
    const Rng rng(seed, "init/" + p.name);
    const std::int64_t count = p.value.count();
    ops::random_init(
        device, p.value,
        [&](std::int64_t i) { return static_cast<float>(first_value(values, rng, i, count)); },
        p.name);
  }
}

}  // namespace nb
