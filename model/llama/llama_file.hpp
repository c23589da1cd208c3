// llama2.c's checkpoint (its "legacy" form, export.py version 0): seven int32 (dim, hidden_dim,
// n_layers, n_heads, n_kv_heads, vocab_size, seq_len; a negative vocab_size: untied output layer),
// then fp32 values, little endian: token_embedding (V,C), and for all layers one after the other
// rms_att (C), wq (C,C), wk (G·D,C), wv (G·D,C), wo (C,C), rms_ffn (C), w1 (F,C), w2 (C,F), w3
// (F,C); then rms_final (C), two rotary tables (T, D/2) that nobody reads any more, and the output
// layer (V,C) when untied.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/llama/llama_config.hpp"

namespace nb {

// Where the weights of one layer (or of none) lie among the values.
struct LlamaWeights {
  std::span<const float> embedding;
  struct Layer {
    std::span<const float> norm_attention, wq, wk, wv, wo, norm_mlp, w1, w2, w3;
  };
  std::vector<Layer> layers;
  std::span<const float> norm_final;
  std::span<const float> output;  // the embedding when tied
};

struct LlamaFile {
  LlamaConfig config;
  std::vector<float> values;     // all of them, in file order
  LlamaWeights weights() const;  // views into `values`
};

// Error: cannot be read, sizes that are no Llama's, another length than the sizes ask for.
Result<LlamaFile> read_llama_file(const std::filesystem::path& path);
Result<LlamaFile> parse_llama_file(std::string_view bytes, const std::string& where);
// By its header: sizes that a Llama can have. Reading says whether the length is theirs.
bool is_llama_file(const std::filesystem::path& path);

}  // namespace nb
