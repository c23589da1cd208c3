// A Llama model (rotary positions, RMS norm with gain, SwiGLU, grouped key-value heads) on an
// emulated device: the forward pass over chunks with cached keys, as the engine needs it. Inference
// only. One device, one thread; the device outlives it.
//
// llama2.c turns neighbouring pairs (2i, 2i+1) of a head; our kernel turns its halves. The rows of
// wq and wk are put in the order 1, 3, 5, …, 0, 2, 4, … of each head when loaded, which makes the
// two the same up to the order of the sum in q·k.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/llama/llama_file.hpp"
#include "model/ops/key_value_cache.hpp"
#include "model/ops/rotary.hpp"

namespace nb {

class Llama {
 public:
  // Copies the weights. Throws OutOfMemory.
  Llama(const LlamaFile& file, Device& device);

  const LlamaConfig& config() const { return config_; }
  Device& device() const { return device_; }

  // Chunks of different sequences; logits (no soft-cap) of the wanted rows, ascending, in blocks:
  // row i of a block is wanted[first + i]. Each chunk's own cache gains its positions. Throws
  // OutOfMemory.
  using LogitSink = std::function<void(std::int64_t first, ConstMatrix logits)>;
  void forward(std::span<const Chunk> chunks, std::span<const std::int64_t> wanted,
               const LogitSink& sink);
  std::unique_ptr<KeyValueCache> new_cache(std::int64_t first_position,
                                           std::int64_t capacity) const;

 private:
  struct Layer {
    Parameter norm_attention, norm_mlp, wq, wk, wv, wo, w1, w2, w3;
  };
  Tensor attention(Layer& layer, const Tensor& n, std::span<const Chunk> chunks,
                   std::span<const std::int64_t> positions, std::int64_t index);
  Tensor mlp(Layer& layer, const Tensor& n);
  void logits(const Tensor& x, std::span<const std::int64_t> wanted, const LogitSink& sink);

  LlamaConfig config_;
  Device& device_;
  Parameter embedding_;
  std::vector<Layer> layers_;
  Parameter norm_final_;
  Parameter output_;  // empty when tied
  ops::RotaryTables tables_;
};

}  // namespace nb
