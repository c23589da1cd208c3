// llama2.c's checkpoint (its "legacy" form, export.py version 0): seven int32 (dim, hidden_dim,
// n_layers, n_heads, n_kv_heads, vocab_size, seq_len; a negative vocab_size: untied output layer),
// then fp32 values, little endian: token_embedding (V,C), and for all layers one after the other
// rms_att (C), wq (C,C), wk (G·D,C), wv (G·D,C), wo (C,C), rms_ffn (C), w1 (F,C), w2 (C,F), w3
// (F,C); then rms_final (C), two rotary tables (T, D/2) that nobody reads any more, and the output
// layer (V,C) when untied.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "model/decoder/decoder.hpp"

namespace nb {

struct Llama2cFile {
  DecoderConfig config;
  std::vector<float> values;  // all of them, in file order
};

// Error: cannot be read, sizes that are no Llama's, another length than the sizes ask for.
Result<Llama2cFile> read_llama2c_file(const std::filesystem::path& path);
Result<Llama2cFile> parse_llama2c_file(std::string_view bytes, const std::string& where);
// By its header: sizes that a Llama can have. Reading says whether the length is theirs.
bool is_llama2c_file(const std::filesystem::path& path);
// Copies the values into the parameters. NB_CHECK: the decoder is of the file's config.
void load_llama2c(const Llama2cFile& file, Decoder& decoder);

}  // namespace nb
