// Dynamic loss scaling of fp16 training, as PyTorch's GradScaler does it (torch/amp/grad_scaler.py,
// its defaults): gradients are those of the loss times a scale, so that small ones do not vanish,
// and are divided by it before clipping. A step whose gradient is not finite is not made, and
// halves the scale; after 2000 that were made in a row it doubles.
//
// Below a scale of 1 the training ends: PyTorch would skip for ever, Megatron-LM has this limit
// (--min-loss-scale 1.0).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "model/device/device.hpp"

namespace nb {

class LossScaler {
 public:
  double scale() const { return changes_.back().scale; }  // a power of two
  double scale_at(std::int64_t step) const;
  std::int64_t skipped() const { return skipped_; }
  // A step has ended. False: the scale has come below 1.
  bool update(bool is_finite);

  Json state() const;
  Result<void> restore(const Json& state);

 private:
  static constexpr double kFirst = 65536;
  struct Change {
    std::int64_t step = 0;  // the first with it
    double scale = kFirst;
  };
  std::vector<Change> changes_ = {Change{}};
  std::int64_t steps_ = 0;    // so far
  std::int64_t made_ = 0;     // in a row, since the scale changed
  std::int64_t skipped_ = 0;  // in all
  friend double loss_scale_of(const Device& device);
};

// With which a training on the device begins; 1: its loss is not scaled.
double loss_scale_of(const Device& device);
// bad_input: the device asks for loss scaling, and `what` ("rl") is trained without it here.
Result<void> check_unscaled(const Device& device, std::string_view what);

}  // namespace nb
