// A small GPT over bytes with something in every weight (a fresh one has zero output
// projections, and all its logits tie).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "harness/base/rng.hpp"
#include "model/decoder/decoder.hpp"
#include "tests/support/chat_tokenizer.hpp"

namespace nb::test {

inline constexpr int kByteVocab = 265;  // bytes and nine specials

struct SmallDecoder {
  explicit SmallDecoder(const std::string& profile, ExecutionMode mode = ExecutionMode::kExecute)
      : SmallDecoder(load_profile(profile).value(), mode) {}
  explicit SmallDecoder(const DeviceProfile& profile, ExecutionMode mode = ExecutionMode::kExecute)
      : device(profile, mode) {
    DecoderConfig config;
    config.sequence_len = 16;
    config.vocab_size = kByteVocab;
    config.n_layer = 2;
    config.n_head = 2;
    config.n_kv_head = 2;
    config.n_embd = 32;
    decoder = std::make_unique<Decoder>(config, device);
    decoder->init(1);
    if (mode == ExecutionMode::kDry) return;
    for (Parameter& parameter : decoder->parameters()) {
      const Rng rng(7, parameter.name);
      std::uint64_t i = 0;
      for (float& value : parameter.value.host())
        value = round_to(DType::kBf16, static_cast<float>(0.3 * rng.normal(i++)));
    }
  }
  Device device;
  std::unique_ptr<Decoder> decoder;
};

}  // namespace nb::test
