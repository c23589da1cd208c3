// Sizes of a decoder and the counts that follow from them. Knows nothing of devices or data.
// nanochat's base_train.py (depth rule) and gpt.py (parameters, FLOP per token).
#pragma once

#include <cstdint>
#include <string>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/architecture.hpp"

namespace nb {

struct DecoderConfig {
  std::int64_t sequence_len = 2048;  // tokens in a training row
  std::int64_t vocab_size = 65536;
  std::int64_t n_layer = 20;
  std::int64_t n_head = 10;
  std::int64_t n_kv_head = 10;
  std::int64_t n_embd = 1280;
  Architecture architecture = {};  // printed where it is not nanochat's of 2025-10

  FieldList fields();
  std::int64_t head_dim() const {
    return architecture.head_dim > 0 ? architecture.head_dim : n_embd / n_head;
  }
  std::int64_t q_width() const { return n_head * head_dim(); }
  std::int64_t kv_width() const { return n_kv_head * head_dim(); }
  std::int64_t hidden() const { return architecture.hidden > 0 ? architecture.hidden : 4 * n_embd; }
  std::int64_t table_rows() const;                // vocab_size and its padding
  std::int64_t window(std::int64_t layer) const;  // 0: all
  bool has_value_embedding(std::int64_t layer) const;
  std::int64_t max_positions() const;  // the longest sequence
  bool operator==(const DecoderConfig&) const = default;
};

// Key-value heads divide the heads, rotary heads have an even width, slices are no wider than what
// they are taken from; else bad_input. `where` opens the message.
Result<void> check_config(const DecoderConfig& config, const std::string& where);

std::int64_t matrix_param_count(const DecoderConfig& config);  // matrices of the blocks
std::int64_t param_count(const DecoderConfig& config);
// 6 × (weights of the products) + 12 × heads × head width × visible keys of each layer: forward
// and backward of one token.
std::int64_t flops_per_token(const DecoderConfig& config);

}  // namespace nb
