#include "model/decoder/init.hpp"

#include <algorithm>
#include <string_view>

#include "harness/base/portable_math.hpp"
#include "harness/base/rng.hpp"
#include "model/ops/transfer.hpp"

namespace nb {

std::vector<Parameter> make_parameters(const DecoderConfig& config, Device& device) {
  std::vector<Parameter> parameters;
  const auto push = [&](const std::string& name, ParameterRole role, std::int64_t out,
                        std::int64_t in) {
    const DType dtype =
        role == ParameterRole::kEmbedding ? device.numerics().embedding_weight : DType::kFp32;
    parameters.push_back({name, role, device.allocate({out, in}, dtype, name), {}});
  };
  const std::int64_t width = config.n_embd;
  const std::int64_t kv_width = config.n_kv_head * config.head_dim();
  push("transformer.wte.weight", ParameterRole::kEmbedding, config.vocab_size, width);
  for (std::int64_t i = 0; i < config.n_layer; ++i) {
    const std::string block = "transformer.h." + std::to_string(i);
    push(block + ".attn.c_q.weight", ParameterRole::kMatrix, width, width);
    push(block + ".attn.c_k.weight", ParameterRole::kMatrix, kv_width, width);
    push(block + ".attn.c_v.weight", ParameterRole::kMatrix, kv_width, width);
    push(block + ".attn.c_proj.weight", ParameterRole::kMatrix, width, width);
    push(block + ".mlp.c_fc.weight", ParameterRole::kMatrix, 4 * width, width);
    push(block + ".mlp.c_proj.weight", ParameterRole::kMatrix, width, 4 * width);
  }
  push("lm_head.weight", ParameterRole::kUnembedding, config.vocab_size, width);
  return parameters;
}

void init_parameters(std::vector<Parameter>& parameters, Device& device, std::uint64_t seed) {
  for (Parameter& p : parameters) {
    if (p.role == ParameterRole::kUnembedding || p.name.ends_with(".c_proj.weight")) {
      ops::zero(device, p.value, p.name);
      continue;
    }
    const auto out = static_cast<double>(p.value.shape()[0]);
    const auto in = static_cast<double>(p.value.shape()[1]);
    const double deviation = p.role == ParameterRole::kEmbedding
                                 ? 1.0
                                 : 1.0 / pm::sqrt(in) * std::min(1.0, pm::sqrt(out / in));
    const Rng rng(seed, "init/" + p.name);
    ops::random_init(
        device, p.value,
        [&](std::int64_t i) {
          return static_cast<float>(rng.normal(static_cast<std::uint64_t>(i)) * deviation);
        },
        p.name);
  }
}

}  // namespace nb
