// Sizes of a Llama model. Plain value.
#pragma once

#include <cstdint>

namespace nb {

struct LlamaConfig {
  std::int64_t n_embd = 0;
  std::int64_t hidden = 0;  // of the MLP
  std::int64_t n_layer = 0;
  std::int64_t n_head = 0;
  std::int64_t n_kv_head = 0;
  std::int64_t vocab_size = 0;
  std::int64_t sequence_len = 0;  // positions
  bool ties_embeddings = true;    // the output layer is the embedding table

  std::int64_t head_dim() const { return n_embd / n_head; }
  std::int64_t kv_width() const { return n_kv_head * head_dim(); }
  bool operator==(const LlamaConfig&) const = default;
};

}  // namespace nb
