// config.json of a Hugging Face model folder → our sizes and architecture. GPT-2 and Llama. A
// setting that would make the model compute what ours does not is refused by name, never ignored.
// Pure; knows no tensors (hugging_face.hpp).
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/config.hpp"

namespace nb {

enum class HuggingFaceKind { kGpt2, kLlama };

struct HuggingFaceConfig {
  HuggingFaceKind kind = HuggingFaceKind::kGpt2;
  DecoderConfig config;
};

// Absent keys have the values that transformers gives them (configuration_gpt2.py and
// configuration_llama.py of v4.44). bad_input names the key and what is read.
Result<HuggingFaceConfig> parse_hugging_face_config(const Json& json, const std::string& where);

}  // namespace nb
