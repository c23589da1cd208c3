// Sizes of a GPT and the counts that follow from them. Knows nothing of devices or data.
// nanochat's base_train.py (depth rule) and gpt.py (parameters, FLOP per token).
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"

namespace nb {

// The rotary tables hold this many times sequence_len positions (nanochat's gpt.py).
inline constexpr std::int64_t kRotaryLengthFactor = 10;

struct DecoderConfig {
  std::int64_t sequence_len = 2048;  // tokens in a training row
  std::int64_t vocab_size = 65536;
  std::int64_t n_layer = 20;
  std::int64_t n_head = 10;
  std::int64_t n_kv_head = 10;
  std::int64_t n_embd = 1280;

  FieldList fields();
  std::int64_t head_dim() const { return n_embd / n_head; }
  std::int64_t rotary_positions() const { return kRotaryLengthFactor * sequence_len; }
  bool operator==(const DecoderConfig&) const = default;
};

// Heads divide the width, key-value heads divide the heads, the head width is even; else bad_input.
// `where` opens the message.
Result<void> check_config(const DecoderConfig& config, const std::string& where);

// Width 64 × depth, heads of at most 128. Not every depth is valid (5 gives 3 heads of 106⅔):
// check_config says so.
DecoderConfig config_for_depth(std::int64_t depth, std::int64_t vocab_size,
                               std::int64_t sequence_len);

std::int64_t matrix_param_count(const DecoderConfig& config);  // all 2-D weights of the blocks
std::int64_t param_count(const DecoderConfig& config);         // with wte and lm_head
// 6 (N − N_wte) + 12 layers × heads × head width × T: forward and backward of one token.
std::int64_t flops_per_token(const DecoderConfig& config);

}  // namespace nb
