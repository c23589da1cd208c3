// A pass over chunks of many sequences, whose earlier positions are in caches. All chunks' tokens
// are one matrix of rows; attention goes by sequence.
#pragma once

#include "model/decoder/config.hpp"
#include "model/decoder/pass.hpp"
#include "model/decoder/weights.hpp"
#include "model/ops/key_value_cache.hpp"

namespace nb {

class ChunkPass final : public Pass {
 public:
  // wanted: ascending. prunes: the last layer computes no other rows' outcomes. All must outlive
  // it.
  ChunkPass(const DecoderConfig& config, const DecoderWeights& weights, Device& device,
            std::span<const Chunk> chunks, std::span<const std::int64_t> wanted, bool prunes);

  std::int64_t rows() const override { return rows_.count(); }
  std::span<const int> ids() const override { return rows_.tokens; }
  ops::Positions positions() const override { return {.each = rows_.positions}; }
  std::vector<int> position_ids() const override;
  Tensor attend(std::int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) override;
  Tensor previous(const Tensor& x) override;
  Tensor kept(std::int64_t layer, const Tensor& x) override;
  ops::Positions kept_positions(std::int64_t layer) const override;
  Tensor wanted(const Tensor& x) override;

 private:
  bool prunes(std::int64_t layer) const { return prunes_ && layer + 1 == config_.n_layer; }
  Tensor wanted_rows(const Tensor& x);

  const DecoderConfig& config_;
  const DecoderWeights& weights_;
  Device& device_;
  std::span<const Chunk> chunks_;
  std::span<const std::int64_t> wanted_;
  bool prunes_;
  ops::ChunkRows rows_;
  std::vector<std::int64_t> wanted_positions_;
};

}  // namespace nb
