#include "model/decoder/presets.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

namespace nb {
namespace {

// Width 64 × depth in heads of 64, as GPT-2 small (12 layers of 768) has them.
DecoderConfig heads_of_64(std::int64_t depth, std::int64_t vocab_size, std::int64_t sequence_len) {
  return {.sequence_len = sequence_len,
          .vocab_size = vocab_size,
          .n_layer = depth,
          .n_head = depth,
          .n_kv_head = depth,
          .n_embd = 64 * depth};
}

// Radford et al. 2019; openai/gpt-2, src/model.py @ 9b63575.
DecoderConfig gpt2(std::int64_t depth, std::int64_t vocab_size, std::int64_t sequence_len) {
  DecoderConfig config = heads_of_64(depth, vocab_size, sequence_len);
  config.architecture = {.norm = NormKind::kLayer,
                         .norm_epsilon = 1e-5,
                         .embedding_norm = false,
                         .positions = PositionKind::kLearned,
                         .position_factor = 1,
                         .qk_norm = false,
                         .mlp = MlpKind::kGelu,
                         .biases = true,
                         .softcap = 0,
                         .tied_head = true};
  return config;
}

// Touvron et al. 2023 (arXiv:2307.09288), its checkpoints in Hugging Face's layout. The MLP has
// 8/3 of the width, rounded up to a multiple of 64.
DecoderConfig llama(std::int64_t depth, std::int64_t vocab_size, std::int64_t sequence_len) {
  DecoderConfig config = heads_of_64(depth, vocab_size, sequence_len);
  config.architecture = {.hidden = (8 * config.n_embd / 3 + 63) / 64 * 64,
                         .norm = NormKind::kRmsGain,
                         .norm_epsilon = 1e-5,
                         .embedding_norm = false,
                         .positions = PositionKind::kRotaryHalves,
                         .position_factor = 1,
                         .qk_norm = false,
                         .mlp = MlpKind::kSwiglu,
                         .softcap = 0};
  return config;
}

// karpathy/llama2.c, model.py @ 350e04f: neighbours are rotated, head and embedding are one table.
DecoderConfig llama2c(std::int64_t depth, std::int64_t vocab_size, std::int64_t sequence_len) {
  DecoderConfig config = llama(depth, vocab_size, sequence_len);
  config.architecture.positions = PositionKind::kRotaryPairs;
  config.architecture.tied_head = true;
  return config;
}

// Width 64 × depth, rounded up to heads of 128.
DecoderConfig heads_of_128(std::int64_t depth, std::int64_t vocab_size, std::int64_t sequence_len) {
  const std::int64_t heads = (64 * depth + 127) / 128;
  return {.sequence_len = sequence_len,
          .vocab_size = vocab_size,
          .n_layer = depth,
          .n_head = heads,
          .n_kv_head = heads,
          .n_embd = 128 * heads};
}

// karpathy/nanochat, nanochat/gpt.py @ 124f49b (2026-02), with full attention in every layer.
DecoderConfig nanochat_2026_02(std::int64_t depth, std::int64_t vocab_size,
                               std::int64_t sequence_len) {
  DecoderConfig config = heads_of_128(depth, vocab_size, sequence_len);
  config.architecture = {.softcap_fp32 = true,
                         .value_embeddings = true,
                         .value_gate_channels = 32,
                         .value_gate_scale = 2,
                         .residual_lambdas = true,
                         .vocab_multiple = 64};
  return config;
}

// karpathy/nanochat, nanochat/gpt.py @ 92d63d4 (2026-07-03), window pattern SSSL. A short window is
// a quarter of the row, rounded up to 128.
DecoderConfig nanochat_2026_07(std::int64_t depth, std::int64_t vocab_size,
                               std::int64_t sequence_len) {
  DecoderConfig config = heads_of_128(depth, vocab_size, sequence_len);
  const std::int64_t quarter = (sequence_len + 3) / 4;
  const std::int64_t narrow = (quarter + 127) / 128 * 128;
  config.architecture = {.rotary_base = 100000,
                         .qk_scale = 1.2,
                         .softcap_fp32 = true,
                         .windows = {narrow, narrow, narrow, sequence_len},
                         .value_embeddings = true,
                         .residual_lambdas = true,
                         .smear = true,
                         .backout = true,
                         .vocab_multiple = 64};
  return config;
}

constexpr auto kPresets = std::to_array<DecoderPreset>({
    {kDefaultPreset, "nanochat of 2025-10: rotary, query-key norm, relu², soft-cap 15",
     config_for_depth},
    {"nanochat-2026-02", "with value embeddings and residual lambdas", nanochat_2026_02,
     "bias_corrected"},  // since 4ddc803 (2026-01-08)
    {"nanochat-2026-07", "with sliding windows, smear and backout too", nanochat_2026_07,
     "bias_corrected"},
    {"gpt2", "learned positions, layer norm, GELU, biases, tied head", gpt2},
    {"llama", "rotary, RMS norm with gain, SwiGLU", llama},
    {"llama2c", "the same as llama2.c has it: pairs are rotated, tied head", llama2c},
});

}  // namespace

std::span<const DecoderPreset> decoder_presets() { return kPresets; }

namespace {

Result<DecoderPreset> preset_of(std::string_view preset) {
  std::vector<std::string> names;
  for (const DecoderPreset& known : kPresets) {
    if (known.name == preset) return known;
    names.emplace_back(known.name);
  }
  return bad_input(fmt::format("no model \"{}\"{}; there are {}", preset,
                               did_you_mean(preset, names), fmt::join(names, ", ")));
}

}  // namespace

Result<DecoderConfig> preset_config(std::string_view preset, std::int64_t depth,
                                    std::int64_t vocab_size, std::int64_t sequence_len) {
  NB_TRY(const DecoderPreset known, preset_of(preset));
  return known.of_depth(depth, vocab_size, sequence_len);
}

Result<std::string_view> preset_adamw(std::string_view preset) {
  NB_TRY(const DecoderPreset known, preset_of(preset));
  return known.adamw;
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

}  // namespace nb
