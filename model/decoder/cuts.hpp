// Where the weights of a decoder are parts of larger matrices, and whole activations meet cut ones:
// what a pass does there is the affair of whoever cut them. A decoder whose weight hooks are Cuts
// too (Decoder::weights) asks them; the sizes of its config are those of its parts.
#pragma once

#include <cstdint>
#include <span>

#include "model/autograd/parameter.hpp"
#include "model/decoder/weights.hpp"
#include "model/device/tensor.hpp"
#include "model/ops/head.hpp"

namespace nb {

class Cuts {
 public:
  virtual ~Cuts() = default;
  // Between its products every rank may have rows of its own, as many as this of so many tokens
  // (sequence parallelism); else all of them.
  virtual std::int64_t rows_here(std::int64_t rows) const = 0;
  // Rows of a table of which this decoder has some: ids and result are of the whole one. is_whole:
  // all rows are read; else the own ones.
  virtual Tensor embedding(Parameter& table, std::span<const int> ids, std::int64_t rows,
                           bool is_whole) = 0;
  // The own rows of x, which is whole.
  virtual Tensor own_rows(const Tensor& x) = 0;
  // x is about to be read by products that give some columns of their results: what they read,
  // all rows. Its gradient is a part of a sum.
  virtual Tensor before_columns(const Tensor& x) = 0;
  // y, of a product that summed over some columns of its input, is a part of a sum and becomes
  // the whole one, or the own rows of it.
  virtual void after_part_sum(Tensor& y) = 0;
  // ops::head_loss() where w has some of the tokens, targets are of all; x the own rows.
  virtual Tensor head_loss(const Tensor& x, Parameter& w, std::span<const int> targets,
                           double scale, const ops::HeadOptions& options) = 0;
};

// Null: the weights are whole.
inline Cuts* cuts_of(const DecoderWeights& w) { return dynamic_cast<Cuts*>(w.hooks); }

// The loss of whole or cut weights.
inline Tensor head_loss(const DecoderWeights& w, const Tensor& x, std::span<const int> targets,
                        double scale, const ops::HeadOptions& options) {
  Cuts* const cuts = cuts_of(w);
  return cuts == nullptr ? ops::head_loss(x, *w.lm_head, targets, scale, options)
                         : cuts->head_loss(x, *w.lm_head, targets, scale, options);
}

}  // namespace nb
