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

// A checkpoint of a training of adapters holds both, the frozen weights and the adapters.
bool has_adapters(const SafetensorsFile& file);
// For evaluation: load_weights(), and the adapters beside them where the file has some.
Result<void> load_model(const SafetensorsFile& file, Decoder& decoder);
// To go on from: load_weights(), and the file's adapters added to them. Whether there were any. The
// decoder's own adapters stay as they are.
Result<bool> load_merged_weights(const SafetensorsFile& file, Decoder& decoder);

}  // namespace nb
