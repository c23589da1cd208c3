#include "model/decoder/config.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace nb {

FieldList DecoderConfig::fields() {
  return {{"sequence_len", "tokens in a training row", &sequence_len, {.unit = "token", .min = 1}},
          {"vocab_size", "entries of the tokenizer", &vocab_size, {.min = 1}},
          {"n_layer", "blocks", &n_layer, {.min = 1}},
          {"n_head", "query heads", &n_head, {.min = 1}},
          {"n_kv_head", "key-value heads", &n_kv_head, {.min = 1}},
          {"n_embd", "width of the residual stream", &n_embd, {.min = 2}}};
}

Result<void> check_config(const DecoderConfig& config, const std::string& where) {
  for (const std::int64_t size : {config.sequence_len, config.vocab_size, config.n_layer,
                                  config.n_head, config.n_kv_head, config.n_embd}) {
    if (size < 1) return bad_input(fmt::format("{}: every size of a GPT is at least 1", where));
  }
  if (config.n_embd % config.n_head != 0) {
    return bad_input(fmt::format(
        "{}: width {} is not divisible by {} heads; choose an even depth (heads of 128)", where,
        config.n_embd, config.n_head));
  }
  if (config.n_head % config.n_kv_head != 0) {
    return bad_input(fmt::format("{}: {} heads are not divisible by {} key-value heads", where,
                                 config.n_head, config.n_kv_head));
  }
  if (config.head_dim() % 2 != 0) {
    return bad_input(fmt::format("{}: head width {} is odd, rotary embedding needs an even one",
                                 where, config.head_dim()));
  }
  return {};
}

DecoderConfig config_for_depth(std::int64_t depth, std::int64_t vocab_size,
                               std::int64_t sequence_len) {
  const std::int64_t width = 64 * depth;
  const std::int64_t heads = std::max<std::int64_t>(1, (width + 127) / 128);
  return {.sequence_len = sequence_len,
          .vocab_size = vocab_size,
          .n_layer = depth,
          .n_head = heads,
          .n_kv_head = heads,
          .n_embd = width};
}

std::int64_t matrix_param_count(const DecoderConfig& config) {
  const std::int64_t width = config.n_embd;
  const std::int64_t kv_width = config.n_kv_head * config.head_dim();
  return config.n_layer * (2 * width * width + 2 * kv_width * width + 8 * width * width);
}

std::int64_t param_count(const DecoderConfig& config) {
  return 2 * config.vocab_size * config.n_embd + matrix_param_count(config);
}

std::int64_t flops_per_token(const DecoderConfig& config) {
  const std::int64_t embedding = config.vocab_size * config.n_embd;
  return 6 * (param_count(config) - embedding) +
         12 * config.n_layer * config.n_head * config.head_dim() * config.sequence_len;
}

}  // namespace nb
