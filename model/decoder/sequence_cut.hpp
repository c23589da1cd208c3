// Where a decoder trains on some tokens of every sequence and others have the rest (context
// parallelism): which tokens those are, and how attention sees them all is the affair of whoever
// cut them. A decoder whose weight hooks are a SequenceCut too (Decoder::weights) asks it
// in training; all other passes are of whole sequences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoder/config.hpp"
#include "model/decoder/pass.hpp"
#include "model/decoder/weights.hpp"
#include "model/device/tensor.hpp"
#include "model/ops/attention.hpp"
#include "model/ops/rotary.hpp"

namespace nb {

class SequenceCut {
 public:
  virtual ~SequenceCut() = default;
  // Of the tokens of a sequence those that are here, ascending; of its p parts each has as many.
  virtual std::span<const std::int64_t> positions() const = 0;
  // Rotary tables of these positions alone, in their order; empty: no rotary.
  virtual const ops::RotaryTables& tables() const = 0;
  // ops::attention() of whole sequences, whose sizes these are; q, k, v and the result are of the
  // tokens here.
  virtual Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v,
                        const ops::HeadShape& whole) = 0;
};

// Null: sequences are whole.
inline SequenceCut* sequence_cut_of(const DecoderWeights& w) {
  return dynamic_cast<SequenceCut*>(w.hooks);
}

// Of B whole sequences, with targets that belong to them: labels are shifted before sequences are
// cut, so that the last token of a part has the first of the next one as target.
struct OwnTokens {
  std::vector<int> inputs, targets;  // (B, T/p); empty on a dry device
  std::int64_t tokens = 0;           // T/p
  // What a mean over the targets here counts in the mean of the parts' means that is the mean over
  // all: p · targets here / all targets. 1 where every token has a target.
  double share = 1;
};
OwnTokens own_tokens(std::span<const std::int64_t> positions, std::span<const int> inputs,
                     std::span<const int> targets, std::int64_t batch, std::int64_t time);

// `positions` of rotary tables.
ops::RotaryTables rows_of(const ops::RotaryTables& tables, std::span<const std::int64_t> positions,
                          Device& device);

// A pass over the tokens of a cut, of `batch` sequences.
class CutPass final : public Pass {
 public:
  // config: of whole sequences. All must outlive it.
  CutPass(const DecoderConfig& config, SequenceCut& cut, std::span<const int> ids,
          std::int64_t batch, std::int64_t time);

  std::int64_t rows() const override { return batch_ * tokens(); }
  std::span<const int> ids() const override { return ids_; }
  ops::Positions positions() const override { return {.time = tokens()}; }  // in tables()
  std::vector<int> position_ids() const override;
  Tensor attend(std::int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) override;
  Tensor previous(const Tensor& x) override;

 private:
  std::int64_t tokens() const { return std::ssize(cut_.positions()); }

  const DecoderConfig& config_;
  SequenceCut& cut_;
  std::span<const int> ids_;
  std::int64_t batch_, time_;
};

}  // namespace nb
