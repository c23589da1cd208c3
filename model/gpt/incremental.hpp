// The GPT's forward pass over chunks of many sequences, with keys and values of earlier positions
// kept in caches. All chunks' tokens are one (rows, C) matrix for norms, linears and MLP; attention
// goes by sequence. A row's logits have the bits of Gpt::forward_logits over its whole sequence,
// however the sequence is cut and whatever else is in the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "model/gpt/gpt.hpp"
#include "model/ops/head.hpp"
#include "model/ops/key_value_cache.hpp"

namespace nb {

// What the last layer computes besides the keys and values of all rows. kWantedRows is for scores:
// a generation's prefill computes every row as nanochat's engine does, whose time is emulated.
enum class LastLayer { kEveryRow, kWantedRows };

// Its caches and itself must die before `gpt`. Uses the weights as they are at each call.
class IncrementalGpt {
 public:
  explicit IncrementalGpt(Gpt& gpt) : gpt_(gpt) {}

  // Chunks of different sequences. Logits of the wanted rows (ascending) go to the sink as in
  // Gpt::forward_logits, but here the device, too, computes the wanted rows only; none wanted: no
  // logits. Each chunk's own cache gains its positions. Throws OutOfMemory.
  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
               const Gpt::LogitSink& sink, LastLayer last = LastLayer::kEveryRow);
  std::unique_ptr<KeyValueCache> new_cache(std::int64_t first_position,
                                           std::int64_t capacity) const;
  const Gpt& gpt() const { return gpt_; }

 private:
  Gpt& gpt_;
  ops::HeadScratch scratch_;
};

}  // namespace nb
