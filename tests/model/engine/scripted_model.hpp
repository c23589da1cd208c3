// A IncrementalModel whose next token is a rule over the whole sequence. It keeps the tokens
// themselves as keys, so what it sees is what the engine's caches hold: a wrong prefix or position
// shows.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include "model/decoder/incremental_model.hpp"

namespace nb::test {

class ScriptedModel : public IncrementalModel {
 public:
  // The most likely token after the sequence; its logit is 5, all others are 0.
  using Rule = std::function<int(const std::vector<int>& sequence)>;
  ScriptedModel(std::int64_t vocab_size, std::int64_t context_length, Rule rule)
      : vocab_size_(vocab_size), context_length_(context_length), rule_(std::move(rule)) {}

  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
               const LogitSink& sink) override {
    std::vector<float> logits;
    std::int64_t row = 0;
    std::size_t next = 0;
    for (const Chunk& chunk : chunks) {
      check_chunk(chunk, context_length_);
      std::vector<int> sequence;
      for (const auto& cache : chunk.prefix) read(*cache, sequence);
      if (chunk.own != nullptr) read(*chunk.own, sequence);
      for (std::size_t i = 0; i < chunk.tokens.size(); ++i, ++row) {
        sequence.push_back(chunk.tokens[i]);
        if (next == wanted.size() || wanted[next] != row) continue;
        ++next;
        std::vector<float> z(static_cast<std::size_t>(vocab_size_), 0.0F);
        z.at(static_cast<std::size_t>(rule_(sequence))) = 5.0F;
        logits.insert(logits.end(), z.begin(), z.end());
      }
      if (chunk.own != nullptr) {
        const auto count = static_cast<std::int64_t>(chunk.tokens.size());
        std::ranges::copy(chunk.tokens, chunk.own->next_keys(0, count).fp32);
        chunk.own->advance(count);
      }
    }
    sequences_ += static_cast<std::int64_t>(chunks.size());
    rows_ += row;
    most_rows_ = std::max(most_rows_, row);
    if (!wanted.empty())
      sink(0, matrix(static_cast<const float*>(logits.data()),
                     static_cast<std::int64_t>(wanted.size()), vocab_size_));
  }
  std::unique_ptr<KeyValueCache> new_cache(std::int64_t first_position,
                                           std::int64_t capacity) override {
    return std::make_unique<KeyValueCache>(device_, CacheShape{1, 1, 1}, first_position, capacity);
  }
  std::int64_t vocab_size() const override { return vocab_size_; }
  std::int64_t context_length() const override { return context_length_; }
  Device& device() const override { return device_; }

  std::int64_t rows() const { return rows_; }
  std::int64_t most_rows() const { return most_rows_; }  // of one pass

 private:
  static void read(const KeyValueCache& cache, std::vector<int>& sequence) {
    for (std::int64_t i = 0; i < cache.size(); ++i)
      sequence.push_back(static_cast<int>(std::lround(cache.keys(0).fp32[i])));
  }

  std::int64_t vocab_size_;
  std::int64_t context_length_;
  Rule rule_;
  // fp32 storage: every id is a value of the format.
  mutable Device device_{load_profile("cpu_ref").value(), ExecutionMode::kExecute};
  std::int64_t sequences_ = 0;
  std::int64_t rows_ = 0, most_rows_ = 0;
};

}  // namespace nb::test
