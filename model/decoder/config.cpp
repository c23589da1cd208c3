#include "model/decoder/config.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "model/decoder/parameters.hpp"

namespace nb {

FieldList DecoderConfig::fields() {
  ObjectRef form = object(&architecture);
  form.present = [this] { return architecture != Architecture(); };
  form.create = [] {};
  return {{"sequence_len", "tokens in a training row", &sequence_len, {.unit = "token", .min = 1}},
          {"vocab_size", "entries of the tokenizer", &vocab_size, {.min = 1}},
          {"n_layer", "blocks", &n_layer, {.min = 1}},
          {"n_head", "query heads", &n_head, {.min = 1}},
          {"n_kv_head", "key-value heads", &n_kv_head, {.min = 1}},
          {"n_embd", "width of the residual stream", &n_embd, {.min = 2}},
          {"architecture", "what the blocks are made of; absent: nanochat's of 2025-10", form}};
}

std::int64_t DecoderConfig::table_rows() const {
  const std::int64_t multiple = architecture.vocab_multiple;
  return (vocab_size + multiple - 1) / multiple * multiple;
}

std::int64_t DecoderConfig::window(std::int64_t layer) const {
  const std::vector<std::int64_t>& windows = architecture.windows;
  if (windows.empty()) return 0;
  if (windows.size() > 1 && layer + 1 == n_layer) {
    const bool has_all = std::find(windows.begin(), windows.end(), 0) != windows.end();
    return has_all ? 0 : *std::max_element(windows.begin(), windows.end());
  }
  return windows[static_cast<std::size_t>(layer) % windows.size()];
}

bool DecoderConfig::has_value_embedding(std::int64_t layer) const {
  return architecture.value_embeddings && layer % 2 == (n_layer - 1) % 2;
}

std::int64_t DecoderConfig::max_positions() const {
  return architecture.has_rotary() ? architecture.position_factor * sequence_len : sequence_len;
}

namespace {

Result<void> check_heads(const DecoderConfig& config, const std::string& where) {
  if (config.architecture.head_dim == 0 && config.n_embd % config.n_head != 0)
    return bad_input(fmt::format(
        "{}: width {} is not divisible by {} heads; choose an even depth (heads of 128)", where,
        config.n_embd, config.n_head));
  if (config.n_head % config.n_kv_head != 0)
    return bad_input(fmt::format("{}: {} heads are not divisible by {} key-value heads", where,
                                 config.n_head, config.n_kv_head));
  if (config.architecture.has_rotary() && config.head_dim() % 2 != 0)
    return bad_input(fmt::format("{}: head width {} is odd, rotary embedding needs an even one",
                                 where, config.head_dim()));
  return {};
}

Result<void> check_slices(const DecoderConfig& config, const std::string& where) {
  const Architecture& a = config.architecture;
  const auto check = [&](const char* what, std::int64_t channels) -> Result<void> {
    if (channels <= config.n_embd) return {};
    return bad_input(
        fmt::format("{}: {} reads {} channels, but the width is {}; choose a larger "
                    "depth",
                    where, what, channels, config.n_embd));
  };
  if (a.value_embeddings) NB_TRY_VOID(check("the gate of value embeddings", a.value_gate_channels));
  if (a.smear) NB_TRY_VOID(check("smear", kSmearChannels));
  return {};
}

}  // namespace

Result<void> check_config(const DecoderConfig& config, const std::string& where) {
  for (const std::int64_t size : {config.sequence_len, config.vocab_size, config.n_layer,
                                  config.n_head, config.n_kv_head, config.n_embd}) {
    if (size < 1) return bad_input(fmt::format("{}: every size of a decoder is at least 1", where));
  }
  NB_TRY_VOID(check_heads(config, where));
  return check_slices(config, where);
}

std::int64_t matrix_param_count(const DecoderConfig& config) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(config))
    if (spec.role == ParameterRole::kMatrix) count += spec.shape.count();
  return count;
}

std::int64_t param_count(const DecoderConfig& config) {
  std::int64_t count = 0;
  for (const ParameterSpec& spec : parameter_specs(config)) count += spec.shape.count();
  return count;
}

std::int64_t flops_per_token(const DecoderConfig& config) {
  std::int64_t flops = 0;
  for (const ParameterSpec& spec : parameter_specs(config))
    if (spec.is_multiplied) flops += 6 * spec.shape.count();
  for (std::int64_t layer = 0; layer < config.n_layer; ++layer) {
    const std::int64_t window = config.window(layer);
    const std::int64_t keys =
        window > 0 ? std::min(window, config.sequence_len) : config.sequence_len;
    flops += 12 * config.q_width() * keys;
  }
  return flops;
}

}  // namespace nb
