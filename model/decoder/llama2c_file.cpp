#include "model/decoder/llama2c_file.hpp"

#include <fmt/core.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <optional>

#include "harness/base/check.hpp"
#include "harness/base/fs.hpp"
#include "model/decoder/presets.hpp"
#include "model/ops/transfer.hpp"

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

Result<DecoderConfig> parse_header(std::string_view bytes, const std::string& where) {
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
  DecoderConfig config = {.sequence_len = sizes[6],
                          .vocab_size = sizes[5],
                          .n_layer = sizes[2],
                          .n_head = sizes[3],
                          .n_kv_head = sizes[4],
                          .n_embd = sizes[0]};
  config.architecture = preset_config("llama2c", 2, 2, 2)->architecture;
  config.architecture.hidden = sizes[1];
  config.architecture.tied_head = !is_untied;
  if (config.n_embd % config.n_head != 0 || config.head_dim() % 2 != 0 ||
      config.n_head % config.n_kv_head != 0)
    return bad_input(
        fmt::format("{}: dim {}, {} heads, {} key-value heads do not divide into even "
                    "heads",
                    where, config.n_embd, config.n_head, config.n_kv_head));
  return config;
}

// Calls visit(name, count) for every run of values in file order: the parameter that they are, or
// nullptr where nobody reads them.
template <class Visit>
void each_run(const DecoderConfig& c, const Visit& visit) {
  const auto named = [&](const std::string& name, std::int64_t count) { visit(&name, count); };
  const auto all_layers = [&](const char* name, std::int64_t count) {
    for (std::int64_t i = 0; i < c.n_layer; ++i)
      named(fmt::format("transformer.h.{}.{}.weight", i, name), count);
  };
  const std::int64_t square = c.n_embd * c.n_embd, narrow = c.kv_width() * c.n_embd;
  const std::int64_t wide = c.hidden() * c.n_embd;
  named("transformer.wte.weight", c.vocab_size * c.n_embd);
  all_layers("ln_1", c.n_embd);
  all_layers("attn.c_q", square);
  all_layers("attn.c_k", narrow);
  all_layers("attn.c_v", narrow);
  all_layers("attn.c_proj", square);
  all_layers("ln_2", c.n_embd);
  all_layers("mlp.c_gate", wide);
  all_layers("mlp.c_proj", wide);
  all_layers("mlp.c_fc", wide);
  named("transformer.ln_f.weight", c.n_embd);
  visit(nullptr, c.sequence_len * c.head_dim());
  if (!c.architecture.tied_head) named("lm_head.weight", c.vocab_size * c.n_embd);
}

// Bytes that the sizes ask for; nothing when no file can be that large.
std::optional<std::uint64_t> file_bytes(const DecoderConfig& config) {
  // 9 runs per layer: a header of garbage must not make a table of millions of layers.
  constexpr std::int64_t kMaxLayers = 4096;
  if (config.n_layer > kMaxLayers) return std::nullopt;
  std::uint64_t count = 0;
  each_run(config,
           [&](const std::string*, std::int64_t run) { count += static_cast<std::uint64_t>(run); });
  return kHeaderBytes + 4 * count;
}

}  // namespace

void load_llama2c(const Llama2cFile& file, Decoder& decoder) {
  NB_CHECK(decoder.config() == file.config, "[llama2c] a decoder of another file");
  std::span<const float> rest = file.values;
  each_run(file.config, [&](const std::string* name, std::int64_t count) {
    const auto size = static_cast<std::size_t>(count);
    const std::span<const float> values = rest.first(size);
    rest = rest.subspan(size);
    if (name == nullptr) return;
    for (Parameter& p : decoder.parameters())
      if (p.name == *name) ops::upload(decoder.device(), values, p.value, p.name);
  });
}

Result<Llama2cFile> parse_llama2c_file(std::string_view bytes, const std::string& where) {
  NB_TRY(const DecoderConfig config, parse_header(bytes, where));
  const std::optional<std::uint64_t> wanted = file_bytes(config);
  if (!wanted || *wanted != bytes.size())
    return bad_input(fmt::format(
        "{}: {} bytes, but a model of dim {}, {} layers, vocabulary {} has {}; copy it again",
        where, bytes.size(), config.n_embd, config.n_layer, config.vocab_size,
        wanted ? std::to_string(*wanted) : "far more"));
  Llama2cFile file;
  file.config = config;
  file.values.resize((bytes.size() - kHeaderBytes) / 4);
  for (std::size_t i = 0; i < file.values.size(); ++i) {
    const std::uint32_t word = word_at(bytes, kHeaderBytes + 4 * i);
    std::memcpy(&file.values[i], &word, sizeof(word));
  }
  return file;
}

Result<Llama2cFile> read_llama2c_file(const std::filesystem::path& path) {
  NB_TRY(const std::string bytes, read_file(path));
  return parse_llama2c_file(bytes, path.string());
}

bool is_llama2c_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string header(kHeaderBytes, '\0');
  if (!file.read(header.data(), static_cast<std::streamsize>(header.size()))) return false;
  return parse_header(header, path.string()).has_value();
}

}  // namespace nb
