#include "model/decoder/lora.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

struct Target {
  const char* name;
  const char* peft_name;
  LinearWeights BlockWeights::*product;
};
constexpr auto kTargets =
    std::to_array<Target>({{"attn.c_q", "q_proj", &BlockWeights::c_q},
                           {"attn.c_k", "k_proj", &BlockWeights::c_k},
                           {"attn.c_v", "v_proj", &BlockWeights::c_v},
                           {"attn.c_proj", "o_proj", &BlockWeights::attn_proj},
                           {"mlp.c_gate", "gate_proj", &BlockWeights::c_gate},
                           {"mlp.c_fc", "up_proj", &BlockWeights::c_fc},
                           {"mlp.c_proj", "down_proj", &BlockWeights::mlp_proj}});
constexpr const char* kAll = "all";

// The decoder's name of what may be PEFT's.
std::string own_name(const std::string& target) {
  if (target == "all-linear") return kAll;
  for (const Target& known : kTargets)
    if (target == known.peft_name) return known.name;
  return target;
}

bool is_chosen(const LoraSettings& settings, const std::string& name) {
  return std::any_of(settings.targets.begin(), settings.targets.end(),
                     [&](const std::string& target) {
                       const std::string own = own_name(target);
                       return own == kAll || own == name;
                     });
}

struct Sizes {
  std::int64_t out, in;
};
Sizes sizes_of(const DecoderConfig& config, const std::string& target) {
  const std::int64_t width = config.n_embd;
  if (target == "attn.c_q") return {config.q_width(), width};
  if (target == "attn.c_k" || target == "attn.c_v") return {config.kv_width(), width};
  if (target == "attn.c_proj") return {width, config.q_width()};
  if (target == "mlp.c_proj") return {width, config.hidden()};
  return {config.hidden(), width};
}

void each_product(DecoderWeights& weights, const std::function<void(LinearWeights&)>& visit) {
  for (BlockWeights& block : weights.blocks)
    for (const Target& target : kTargets)
      if ((block.*target.product).weight != nullptr) visit(block.*target.product);
}

}  // namespace

void merge_adapter(Parameter& w, ConstMatrix a, ConstMatrix b, double factor) {
  const Matrix out = w.value.matrix();
  const auto scale = static_cast<float>(factor);
  parallel_chunks(static_cast<std::size_t>(out.rows), 16, [&](std::size_t begin, std::size_t end) {
    std::vector<float> sum(static_cast<std::size_t>(out.cols));
    for (auto row = static_cast<std::int64_t>(begin); row < static_cast<std::int64_t>(end); ++row) {
      std::fill(sum.begin(), sum.end(), 0.0F);
      for (std::int64_t r = 0; r < a.rows; ++r)
        for (std::int64_t i = 0; i < a.cols; ++i)
          sum[static_cast<std::size_t>(i)] += b.row(row)[r] * a.row(r)[i];
      for (std::int64_t i = 0; i < a.cols; ++i)
        out.row(row)[i] += scale * sum[static_cast<std::size_t>(i)];
    }
  });
}

FieldList LoraSettings::fields() {
  return {{"rank", "of the adapters", &rank, {.min = 1}},
          {"alpha", "they count alpha / rank", &alpha, {.min = 0}},
          {"targets",
           "products in every block that get one, as attn.c_q or PEFT's q_proj; or all-linear",
           &targets}};
}

std::vector<std::string> lora_targets(const DecoderConfig& config) {
  std::vector<std::string> names;
  for (const Target& target : kTargets)
    if (config.architecture.mlp == MlpKind::kSwiglu || std::string(target.name) != "mlp.c_gate")
      names.emplace_back(target.name);
  return names;
}

Result<void> check_lora(const LoraSettings& settings, const DecoderConfig& config,
                        const std::string& where) {
  std::vector<std::string> known = lora_targets(config);
  if (settings.targets.empty())
    return bad_input(fmt::format("{}: /targets: names no product; there are {}, all", where,
                                 fmt::join(known, ", ")));
  for (std::size_t i = 0; i < settings.targets.size(); ++i) {
    const std::string& target = settings.targets[i];
    const std::string own = own_name(target);
    if (own != kAll && std::find(known.begin(), known.end(), own) == known.end())
      return bad_input(
          fmt::format("{}: /targets/{}: no product \"{}\" in this model{}; there are "
                      "{}, all",
                      where, i, target, did_you_mean(target, known), fmt::join(known, ", ")));
    if (std::ranges::count(settings.targets, own, own_name) > 1)
      return bad_input(fmt::format("{}: /targets/{}: \"{}\" is named twice", where, i, target));
  }
  return {};
}

std::int64_t lora_flops_per_token(const DecoderConfig& config, const LoraSettings& settings) {
  std::int64_t flops = flops_per_token(config);
  for (const ParameterSpec& spec : parameter_specs(config))
    if (spec.is_multiplied) flops -= 2 * spec.shape.count();
  for (const ParameterSpec& spec : lora_specs(settings, config)) flops += 6 * spec.shape.count();
  return flops;
}

std::vector<ParameterSpec> lora_specs(const LoraSettings& settings, const DecoderConfig& config) {
  const auto checked = check_lora(settings, config, "[lora]");
  NB_CHECK(checked.has_value(), "{}", checked.error().message);
  std::vector<ParameterSpec> specs;
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) {
    for (const std::string& target : lora_targets(config)) {
      if (!is_chosen(settings, target)) continue;
      const auto [out, in] = sizes_of(config, target);
      const std::string name = fmt::format("transformer.h.{}.{}", layer, target);
      const double bound = 1 / pm::sqrt(static_cast<double>(in));
      specs.push_back({.name = name + ".lora_a",
                       .role = ParameterRole::kAdapter,
                       .shape = {settings.rank, in},
                       .first_values = {FirstValues::Kind::kUniform, -bound, bound}});
      specs.push_back({.name = name + ".lora_b",
                       .role = ParameterRole::kAdapter,
                       .shape = {out, settings.rank},
                       .first_values = {}});
    }
  }
  return specs;
}

std::vector<Parameter> make_lora(const LoraSettings& settings, const DecoderConfig& config,
                                 Device& device, std::uint64_t seed) {
  const std::vector<ParameterSpec> specs = lora_specs(settings, config);
  std::vector<Parameter> adapters = make_parameters(specs, device);
  init_parameters(specs, adapters, device, seed);
  return adapters;
}

void set_adapters(DecoderWeights& weights, const LoraSettings& settings,
                  std::vector<Parameter>& adapters, const LoraDropout* dropout) {
  std::size_t next = 0;
  for (BlockWeights& block : weights.blocks)
    for (const Target& target : kTargets) {
      LinearWeights& product = block.*target.product;
      if (product.weight == nullptr || !is_chosen(settings, target.name)) continue;
      NB_CHECK(next + 2 <= adapters.size(), "[lora] {} adapters are too few", adapters.size());
      product.adapter = {.a = &adapters[next],
                         .b = &adapters[next + 1],
                         .scale = settings.alpha / static_cast<double>(settings.rank),
                         .dropout = dropout};
      next += 2;
    }
}

void remove_adapters(DecoderWeights& weights) {
  each_product(weights, [](LinearWeights& product) { product.adapter = {}; });
}

void merge_adapters(DecoderWeights& weights) {
  each_product(weights, [](LinearWeights& product) {
    const LoraAdapter& adapter = product.adapter;
    if (adapter.a != nullptr)
      merge_adapter(*product.weight, std::as_const(adapter.a->value).matrix(),
                    std::as_const(adapter.b->value).matrix(), adapter.scale);
  });
}

void Adapters::add(const LoraSettings& settings, std::uint64_t seed) {
  NB_CHECK(!settings_, "[lora] this decoder has adapters already");
  parameters_ = make_lora(settings, config_, device_, seed);
  settings_ = settings;
  set_adapters(weights_, settings, parameters_, &dropout_);
  for (Parameter& p : whole_) p.is_trained = false;
}

void Adapters::merge() {
  merge_adapters(weights_);
  remove_adapters(weights_);
  parameters_.clear();
  settings_.reset();
  for (Parameter& p : whole_) p.is_trained = true;
}

}  // namespace nb
