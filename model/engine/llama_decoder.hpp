// A Llama model as a IncrementalModel.
#pragma once

#include <memory>
#include <span>

#include "model/decoder/incremental_model.hpp"
#include "model/llama/llama.hpp"

namespace nb {

class LlamaDecoder : public IncrementalModel {
 public:
  explicit LlamaDecoder(Llama& llama) : llama_(llama) {}  // must outlive this and its caches

  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
               const LogitSink& sink) override {
    llama_.forward(chunks, wanted, sink);
  }
  std::unique_ptr<KeyValueCache> new_cache(std::int64_t first_position,
                                           std::int64_t capacity) override {
    return llama_.new_cache(first_position, capacity);
  }
  std::int64_t vocab_size() const override { return llama_.config().vocab_size; }
  std::int64_t context_length() const override { return llama_.config().sequence_len; }
  Device& device() const override { return llama_.device(); }

 private:
  Llama& llama_;
};

}  // namespace nb
