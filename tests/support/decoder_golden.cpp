#include "tests/support/decoder_golden.hpp"

#include <cstddef>

#include "harness/base/check.hpp"

namespace nb::test {
namespace {

std::uint64_t splitmix(std::uint64_t stream, std::uint64_t i) {
  std::uint64_t z = stream * 0xD1B54A32D192ED03ULL + (i + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

}  // namespace

DeviceProfile fp32_profile(const std::string& name) {
  auto profile = load_profile(name);
  NB_CHECK(profile.has_value(), "{}", profile.error().message);
  NumericsPolicy& policy = profile->numerics;
  policy = {};
  for (DType* dtype : {&policy.storage, &policy.matmul_inputs, &policy.matmul_output,
                       &policy.weight_gradient, &policy.embedding_weight, &policy.adam_moments,
                       &policy.muon_momentum, &policy.muon_matmul, &policy.collective}) {
    *dtype = DType::kFp32;
  }
  return *profile;
}

float golden_uniform(std::uint64_t stream, std::uint64_t i, float scale) {
  const auto bits = static_cast<std::int64_t>(splitmix(stream, i) >> 40U) - (1 << 23);
  return static_cast<float>(bits) * 0x1p-23F * scale;
}

void set_golden_weights(Decoder& decoder) {
  std::vector<Parameter*> order = {&decoder.parameters().front(), &decoder.parameters().back()};
  for (std::size_t i = 1; i + 1 < decoder.parameters().size(); ++i) {
    order.push_back(&decoder.parameters()[i]);
  }
  for (std::size_t stream = 0; stream < order.size(); ++stream) {
    const std::string& name = order[stream]->name;
    const float scale = name.ends_with("wte.weight")          ? 1.0F
                        : name.ends_with("mlp.c_proj.weight") ? 0.0625F
                                                              : 0.125F;
    const std::span<float> values = order[stream]->value.host();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = round_to(order[stream]->value.dtype(), golden_uniform(stream + 1, i, scale));
    }
  }
}

GoldenTokens golden_tokens(std::int64_t step, std::int64_t batch, std::int64_t time,
                           std::int64_t vocab, std::int64_t ignore_every) {
  const auto count = static_cast<std::size_t>(batch * time);
  std::vector<int> ids(count + 1);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const std::uint64_t bits = splitmix(1000 + static_cast<std::uint64_t>(step), i);
    ids[i] = static_cast<int>((bits >> 33U) % static_cast<std::uint64_t>(vocab));
  }
  GoldenTokens tokens{{ids.begin(), ids.end() - 1}, {ids.begin() + 1, ids.end()}};
  if (ignore_every > 0) {
    for (std::size_t i = 0; i < count; i += static_cast<std::size_t>(ignore_every)) {
      tokens.targets[i] = -1;
    }
  }
  return tokens;
}

}  // namespace nb::test
