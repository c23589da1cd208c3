// A pass over whole sequences of one length, each from position 0.
#pragma once

#include "model/decoder/config.hpp"
#include "model/decoder/pass.hpp"

namespace nb {

class WholePass final : public Pass {
 public:
  // ids (B,T) row-major, which must outlive it, as must config; may be empty on a dry device.
  WholePass(const DecoderConfig& config, std::span<const int> ids, std::int64_t batch,
            std::int64_t time);

  std::int64_t rows() const override { return batch_ * time_; }
  std::span<const int> ids() const override { return ids_; }
  ops::Positions positions() const override { return {.time = time_}; }
  std::vector<int> position_ids() const override;
  Tensor attend(std::int64_t layer, const Tensor& q, const Tensor& k, const Tensor& v) override;
  Tensor previous(const Tensor& x) override;

 private:
  const DecoderConfig& config_;
  std::span<const int> ids_;
  std::int64_t batch_, time_;
};

}  // namespace nb
