// One optimizer step: micro-batches in order, clipping, optimizers, gradients freed. The same code
// trains and, on a dry device, predicts. Not here: schedules, validation, checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "model/data/loader.hpp"
#include "model/decoder/decoder.hpp"
#include "model/optim/optimizer.hpp"

namespace nb {

struct StepPlan {
  std::int64_t accumulation_steps = 1;
  std::int64_t rows = 1;    // B of a micro-batch
  std::int64_t length = 1;  // T
  double grad_clip = 1;     // 0: none
};
struct StepOutcome {
  double loss = 0;           // nat, mean over the micro-batches
  double grad_norm = 0;      // before clipping
  std::int64_t time_ns = 0;  // simulated, from the device idle to the device idle
};

// next(): the next micro-batch (rows, length); its vectors may be empty on a dry device.
StepOutcome run_step(Decoder& decoder, std::span<const std::unique_ptr<Optimizer>> optimizers,
                     const StepPlan& plan, const SchedulePoint& point,
                     const std::function<Batch()>& next);

}  // namespace nb
