// Weights of a Hugging Face model folder (config.json beside model.safetensors, or beside shards
// with model.safetensors.index.json) → a Decoder. The names are one table in hugging_face.cpp.
// Files stay mapped while the value lives. Thread-compatible.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/decoder/decoder.hpp"
#include "model/train/hugging_face_config.hpp"
#include "model/train/safetensors.hpp"

namespace nb {

struct HuggingFaceModel {
  std::filesystem::path folder;
  HuggingFaceConfig read;
  std::vector<SafetensorsFile> files;
  const DecoderConfig& config() const { return read.config; }
};

// By its files: config.json and safetensors.
bool is_hugging_face_folder(const std::filesystem::path& folder);
// bad_input: no weights, a shard that is missing, a tensor that is missing, unexpected, twice there
// or of another shape.
Result<HuggingFaceModel> open_hugging_face(const std::filesystem::path& folder);
// SHA-256 over name, type, shape and bytes of all tensors in order of name, however they are
// distributed over files; and over the config, without which they are no model.
std::string weights_digest(const HuggingFaceModel& model);
// Values rounded to the device's dtypes. NB_CHECK: the decoder is of the model's config.
Result<void> load_hugging_face(const HuggingFaceModel& model, Decoder& decoder);

}  // namespace nb
