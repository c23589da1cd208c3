// One optimizer step: micro-batches in order, clipping, optimizers, gradients freed. The same code
// trains and, on a dry device, predicts. Not here: schedules, validation, checkpoints.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "model/data/loader.hpp"
#include "model/decoder/decoder.hpp"
#include "model/optim/optimizer.hpp"
#include "model/train/stage_observer.hpp"

namespace nb {

struct StepPlan {
  std::int64_t accumulation_steps = 1;
  // Limit of the global gradient norm; 0: measured, not limited. None: the device does neither
  // (nanochat's stages after BASE), and the norm that is told costs no simulated time.
  std::optional<double> grad_clip = 1;
  // What the sum of the gradients is rounded to after each micro-batch; none: as the device keeps
  // it.
  std::optional<DType> gradient_sum = {};
  // On a dry device: the micro-batches are equal, so once one leaves clock and memory as the one
  // before it did, the others are counted without being simulated.
  bool counts_equal_micro_batches = false;
  // The gradients are those of the loss times so much, a power of two (loss_scaler.hpp), until they
  // are divided by it, before clipping. 1: they are neither.
  double loss_scale = 1;
};
struct StepOutcome {
  double loss = 0;           // nat, mean over the micro-batches
  double grad_norm = 0;      // before clipping
  std::int64_t tokens = 0;   // rows × length of all micro-batches
  std::int64_t time_ns = 0;  // simulated, from the device idle to the device idle
  TimeAccount account;       // of it: what it went to
  // Of the first micro-batch whose loss is not finite: first_op_not_finite.
  std::string not_finite = {};
  double batch_hash = 0;  // BatchHash of the micro-batches in their order
  // By loss scaling: nothing was updated, and the training goes on.
  bool is_skipped = false;
};

using OptimizerList = std::span<const std::unique_ptr<Optimizer>>;

// next(): the next micro-batch; the vectors of ids may be empty on a dry device. observer null:
// none.
StepOutcome run_step(Decoder& decoder, OptimizerList optimizers, const StepPlan& plan,
                     const SchedulePoint& point, const std::function<Batch()>& next,
                     const StageObserver* observer = nullptr);

// Optimizers, gradients freed; nothing where the norm is not finite. apply_gradients() without
// clipping.
void finish_update(Decoder& decoder, OptimizerList optimizers, double norm,
                   const SchedulePoint& point, double loss, const StageObserver* observer);

// The end of a step, when the gradients are there: clipping, optimizers, gradients freed. Returns
// the norm before clipping; where that is not finite nothing else is done, so that whoever ends the
// training can still look at gradients and weights. loss: what the observer is told.
double apply_gradients(Decoder& decoder, OptimizerList optimizers, std::optional<double> grad_clip,
                       const SchedulePoint& point, double loss = 0,
                       const StageObserver* observer = nullptr, double loss_scale = 1);
// Of gradients that are averaged.
void divide_by_scale(Device& device, std::span<Tensor* const> gradients, double loss_scale);

}  // namespace nb
