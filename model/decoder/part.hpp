// A run of a decoder's blocks on a card of its own, a stage of a pipeline: the first begins with
// the embedding, the last ends with the loss. Forward and backward are apart, so that several
// micro-batches may be between the two. Its bits are those of the whole decoder. Not here: who
// sends what to whom, and when (model/train/pipeline.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/autograd/tape.hpp"
#include "model/decoder/config.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/whole_pass.hpp"
#include "model/device/tensor.hpp"

namespace nb {

struct DecoderPart {
  std::int64_t first = 0, end = 0;  // blocks [first, end)
  bool has_embedding() const { return first == 0; }
  bool has_head(const DecoderConfig& config) const { return end == config.n_layer; }
};
// NB_CHECK: as many blocks in every part.
DecoderPart part_of(const DecoderConfig& config, int stage, int stages);

// Whether an op of the part reads the parameter of that name. Residual lambdas are read by all
// parts, a tied table by the first and the last.
bool reads(const DecoderConfig& config, const DecoderPart& part, std::string_view parameter);

// How many tensors (rows, C) block `block` and those behind it read of those before it: the
// residual stream; what block 0 began with, where lambdas add it; what backout takes, where that is
// behind another block than the last before this one.
int carried_tensors(const DecoderConfig& config, std::int64_t block);

struct Residuals;  // trunk.hpp

// One micro-batch in one part: expect_inputs() and expect_gradients() give tensors that the caller
// fills before forward() and backward(). On the thread that made it.
class PartPass {
 public:
  // inputs, targets (B,T) as of Decoder::loss_and_backward; they and the decoder outlive it.
  PartPass(Decoder& decoder, const DecoderPart& part, std::span<const int> inputs,
           std::span<const int> targets, std::int64_t batch, std::int64_t time);
  PartPass(const PartPass&) = delete;
  PartPass& operator=(const PartPass&) = delete;

  // What the part before gives; none of the first part.
  std::vector<Tensor> expect_inputs();
  // scale: of the loss's gradient. Returns what the next part reads, whose memory is the caller's
  // alone from now on; nothing of the last part.
  std::vector<Tensor> forward(double scale);
  // Of what forward() returned; none of the last part.
  std::vector<Tensor> expect_gradients();
  // Returns the gradients of what expect_inputs() gave.
  std::vector<Tensor> backward();
  float loss() const;  // of the last part, after backward(); 0 on a dry device

 private:
  std::vector<Tensor> expect(int tensors, std::string_view name) const;
  void open_inputs(Residuals& stream);

  Decoder& decoder_;
  const DecoderPart part_;
  std::span<const int> targets_;
  std::int64_t rows_;
  WholePass pass_;
  std::optional<Tape> tape_;
  std::optional<NoTape> paused_;  // between forward and backward nothing is recorded
  Tensor input_ids_, target_ids_;
  std::vector<Tensor> inputs_, input_gradients_, output_gradients_;
  Tensor root_;  // the loss, or what stands for all that the next part reads
};

}  // namespace nb
