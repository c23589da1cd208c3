// Low-rank adapters on disk: their values, what they were made with, and the sizes of the decoder
// that they belong to, in one safetensors file. The decoder's own weights are not in it.
#pragma once

#include <filesystem>

#include "harness/base/result.hpp"
#include "model/decoder/decoder.hpp"
#include "model/train/safetensors.hpp"

namespace nb {

// NB_CHECK: the decoder has adapters. Same adapters, same bytes.
Result<void> save_adapters(const std::filesystem::path& path, const Decoder& decoder);
// Adds the file's adapters to a decoder that has none. bad_input: no adapters in the file, or those
// of a decoder with another config; then nothing is added.
Result<void> load_adapters(const SafetensorsFile& file, Decoder& decoder);

}  // namespace nb
