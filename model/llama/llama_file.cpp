#include "model/llama/llama_file.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>

#include "harness/base/fs.hpp"

namespace nb {
namespace {

constexpr std::size_t kHeaderBytes = 28;
constexpr std::int64_t kLargestSize = 1 << 24;  // of any header entry; keeps products in 64 bits

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < 4; ++i)
    word |= static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return word;
}

Result<LlamaConfig> parse_header(std::string_view bytes, const std::string& where) {
  if (bytes.size() < kHeaderBytes)
    return bad_input(
        fmt::format("{}: {} bytes; a llama2.c model begins with 7 int32", where, bytes.size()));
  std::array<std::int64_t, 7> sizes{};
  for (std::size_t i = 0; i < sizes.size(); ++i)
    sizes[i] = static_cast<std::int32_t>(word_at(bytes, 4 * i));
  const bool is_untied = sizes[5] < 0;
  if (is_untied) sizes[5] = -sizes[5];
  static constexpr std::array<std::string_view, 7> kNames = {
      "dim", "hidden_dim", "n_layers", "n_heads", "n_kv_heads", "vocab_size", "seq_len"};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 1 || sizes[i] > kLargestSize)
      return bad_input(
          fmt::format("{}: {} at byte {} is {}; not a llama2.c model (or a newer "
                      "version: export it with version 0)",
                      where, kNames[i], 4 * i, sizes[i]));
  }
  const LlamaConfig config = {sizes[0], sizes[1], sizes[2], sizes[3],
                              sizes[4], sizes[5], sizes[6], !is_untied};
  if (config.n_embd % config.n_head != 0 || config.head_dim() % 2 != 0 ||
      config.n_head % config.n_kv_head != 0)
    return bad_input(
        fmt::format("{}: dim {}, {} heads, {} key-value heads do not divide into even "
                    "heads",
                    where, config.n_embd, config.n_head, config.n_kv_head));
  return config;
}

// Calls visit(field, count) for every run of values in file order; a null field is skipped.
template <class Visit>
void each_run(const LlamaConfig& c, LlamaWeights& w, const Visit& visit) {
  w.layers.resize(static_cast<std::size_t>(c.n_layer));
  const auto all_layers = [&](std::span<const float> LlamaWeights::Layer::*field,
                              std::int64_t count) {
    for (LlamaWeights::Layer& layer : w.layers) visit(&(layer.*field), count);
  };
  using Layer = LlamaWeights::Layer;
  const std::int64_t square = c.n_embd * c.n_embd, narrow = c.kv_width() * c.n_embd;
  const std::int64_t wide = c.hidden * c.n_embd, table = c.sequence_len * c.head_dim() / 2;
  visit(&w.embedding, c.vocab_size * c.n_embd);
  all_layers(&Layer::norm_attention, c.n_embd);
  all_layers(&Layer::wq, square);
  all_layers(&Layer::wk, narrow);
  all_layers(&Layer::wv, narrow);
  all_layers(&Layer::wo, square);
  all_layers(&Layer::norm_mlp, c.n_embd);
  all_layers(&Layer::w1, wide);
  all_layers(&Layer::w2, wide);
  all_layers(&Layer::w3, wide);
  visit(&w.norm_final, c.n_embd);
  visit(static_cast<std::span<const float>*>(nullptr), 2 * table);
  if (!c.ties_embeddings) visit(&w.output, c.vocab_size * c.n_embd);
}

// Bytes that the sizes ask for; nothing when no file can be that large.
std::optional<std::uint64_t> file_bytes(const LlamaConfig& config) {
  // 9 runs a layer: a header of garbage must not make a table of millions of layers.
  constexpr std::int64_t kMaxLayers = 4096;
  if (config.n_layer > kMaxLayers) return std::nullopt;
  LlamaWeights unused;
  std::uint64_t count = 0;
  each_run(config, unused, [&](std::span<const float>*, std::int64_t run) {
    count += static_cast<std::uint64_t>(run);
  });
  return kHeaderBytes + 4 * count;
}

}  // namespace

LlamaWeights LlamaFile::weights() const {
  LlamaWeights weights;
  std::span<const float> rest = values;
  each_run(config, weights, [&](std::span<const float>* field, std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);
    if (field != nullptr) *field = rest.first(size);
    rest = rest.subspan(size);
  });
  if (config.ties_embeddings) weights.output = weights.embedding;
  return weights;
}

Result<LlamaFile> parse_llama_file(std::string_view bytes, const std::string& where) {
  NB_TRY(const LlamaConfig config, parse_header(bytes, where));
  const std::optional<std::uint64_t> wanted = file_bytes(config);
  if (!wanted || *wanted != bytes.size())
    return bad_input(fmt::format(
        "{}: {} bytes, but a model of dim {}, {} layers, vocabulary {} has {}; copy it again",
        where, bytes.size(), config.n_embd, config.n_layer, config.vocab_size,
        wanted ? std::to_string(*wanted) : "far more"));
  LlamaFile file;
  file.config = config;
  file.values.resize((bytes.size() - kHeaderBytes) / 4);
  for (std::size_t i = 0; i < file.values.size(); ++i) {
    const std::uint32_t word = word_at(bytes, kHeaderBytes + 4 * i);
    std::memcpy(&file.values[i], &word, sizeof(word));
  }
  return file;
}

Result<LlamaFile> read_llama_file(const std::filesystem::path& path) {
  NB_TRY(const std::string bytes, read_file(path));
  return parse_llama_file(bytes, path.string());
}

bool is_llama_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string header(kHeaderBytes, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(header.size()))) return false;
  return parse_header(header, path.string()).has_value();
}

}  // namespace nb
