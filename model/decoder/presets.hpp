// Named decoders: an architecture, and the rule by which depth gives the sizes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "harness/base/result.hpp"
#include "model/decoder/config.hpp"

namespace nb {

inline constexpr std::string_view kDefaultPreset = "nanochat";

struct DecoderPreset {
  std::string_view name;
  std::string_view about;
  DecoderConfig (*of_depth)(std::int64_t depth, std::int64_t vocab_size, std::int64_t sequence_len);
  // A recipe's adamw_denominator, as the code that it follows has it; what no code of nanochat has
  // is trained as nanochat's of 2025-10.
  std::string_view adamw = "scaled_step";
};
std::span<const DecoderPreset> decoder_presets();

// bad_input with the nearest name.
Result<DecoderConfig> preset_config(std::string_view preset, std::int64_t depth,
                                    std::int64_t vocab_size, std::int64_t sequence_len);
Result<std::string_view> preset_adamw(std::string_view preset);
// nanochat's. Width 64 × depth, heads of at most 128. Not every depth is valid (5 gives 3 heads of
// 106⅔): check_config says so.
DecoderConfig config_for_depth(std::int64_t depth, std::int64_t vocab_size,
                               std::int64_t sequence_len);

}  // namespace nb
