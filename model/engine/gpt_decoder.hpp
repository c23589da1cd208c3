// A GPT as a Decoder.
#pragma once

#include <memory>
#include <span>

#include "model/engine/decoder.hpp"
#include "model/gpt/incremental.hpp"

namespace nb {

class GptDecoder : public Decoder {
 public:
  explicit GptDecoder(Gpt& gpt) : incremental_(gpt) {}  // `gpt` must outlive this and its caches

  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
               const LogitSink& sink) override {
    incremental_.forward(chunks, wanted, sink);
  }
  void forward_for_scores(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
                          const LogitSink& sink) override {
    incremental_.forward(chunks, wanted, sink, LastLayer::kWantedRows);
  }
  std::unique_ptr<KeyValueCache> new_cache(std::int64_t first_position,
                                           std::int64_t capacity) override {
    return incremental_.new_cache(first_position, capacity);
  }
  std::int64_t vocab_size() const override { return incremental_.gpt().config().vocab_size; }
  // Positions of the rotary tables: nanochat runs prompts past its training length
  // (nanochat's core_eval.py).
  std::int64_t context_length() const override {
    return incremental_.gpt().config().rotary_positions();
  }
  Device& device() const override { return incremental_.gpt().device(); }

 private:
  IncrementalGpt incremental_;
};

}  // namespace nb
