// A decoder's forward pass over chunks of many sequences, with keys and values of earlier positions
// kept in caches. All chunks' tokens are one (rows, C) matrix for norms, linears and MLP; attention
// goes by sequence. A row's logits have the bits of Decoder::forward_logits over its whole
// sequence, however the sequence is cut and whatever else is in the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/decoder/decoder.hpp"
#include "model/decoder/incremental_model.hpp"
#include "model/ops/head.hpp"
#include "model/ops/key_value_cache.hpp"

namespace nb {

// What the last layer computes besides the keys and values of all rows. kWantedRows is for scores:
// a generation's prefill computes every row as nanochat's engine does, whose time is emulated.
enum class LastLayer { kEveryRow, kWantedRows };

// Its caches and itself must die before `decoder`. Uses the weights as they are at each call.
class IncrementalDecoder : public IncrementalModel {
 public:
  explicit IncrementalDecoder(Decoder& decoder) : decoder_(decoder) {}

  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
               const LogitSink& sink) override {
    forward(chunks, wanted, sink, LastLayer::kEveryRow);
  }
  void forward_for_scores(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
                          const LogitSink& sink) override {
    forward(chunks, wanted, sink, LastLayer::kWantedRows);
  }
  // Logits of the wanted rows (ascending) go to the sink as in Decoder::forward_logits, but here
  // the device, too, computes the wanted rows only; none wanted: no logits. Each chunk's own cache
  // gains its positions.
  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
               const LogitSink& sink, LastLayer last);
  std::unique_ptr<KeyValueCache> new_cache(std::int64_t first_position,
                                           std::int64_t capacity) override;
  std::int64_t vocab_size() const override { return decoder_.config().vocab_size; }
  // nanochat runs prompts past its training length (nanochat's core_eval.py).
  std::int64_t context_length() const override { return decoder_.config().max_positions(); }
  Device& device() const override { return decoder_.device(); }

 private:
  Decoder& decoder_;
  ops::HeadScratch scratch_;
};

}  // namespace nb
