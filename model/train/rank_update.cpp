// What a rank updates by, and how: averaged gradients, their norm over all ranks, the optimizers.
#include <array>
#include <cmath>
#include <functional>
#include <string>

#include "model/ops/optimizer_ops.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/disturbance.hpp"

namespace nb {

namespace {

// After they were averaged: what this rank updates by.
std::vector<Tensor*> averaged_gradients(TrainedModel& model) {
  std::vector<OwnGradient> own;
  if (model.sharded != nullptr) own = model.sharded->own_gradients();
  if (model.shared != nullptr)
    for (const auto& optimizer : model.optimizers)
      for (const OwnGradient& one : optimizer->own_gradients()) own.push_back(one);
  std::vector<Tensor*> all;
  for (const OwnGradient& one : own) all.push_back(one.gradient);
  if (model.sharded == nullptr && model.shared == nullptr)
    for (Parameter* p : trained_decoder(model).trained_parameters()) all.push_back(&p->grad);
  return all;
}

// What PyTorch does with a norm that is not finite: clip_grad_norm_ multiplies all gradients by
// limit / norm, NaN or 0, and the optimizers step.
void update_with_nan(TrainedModel& model, const std::optional<double>& grad_clip,
                     const SchedulePoint& point, double norm) {
  if (grad_clip && *grad_clip > 0) {
    const auto factor = static_cast<float>(*grad_clip / (norm + 1e-6));
    for (Tensor* gradient : averaged_gradients(model))
      for (float& value : gradient->host()) value *= factor;
  }
  for (const auto& optimizer : model.optimizers) optimizer->step(point);
  trained_decoder(model).zero_grad();
  if (model.sharded != nullptr) model.sharded->zero_grad();
}

}  // namespace

double DataRanks::update(TrainedModel& model, Communicator& world, std::optional<double> grad_clip,
                         const SchedulePoint& point, const std::function<double()>& loss) const {
  const bool is_first = world.rank() == 0;
  const auto loss_there = [&] { return is_first ? loss() : 0; };
  const StageObserver* observer = is_first ? first_.observer : nullptr;
  const double norm =
      update_on_rank(model, world, grad_clip, point, loss_there, observer, loss_scale_);
  if (!std::isfinite(norm) && first_.disturbance != nullptr &&
      first_.disturbance->goes_on_with_nan(point.step))
    update_with_nan(model, grad_clip, point, norm);
  return norm;
}

namespace {

// What this rank updates by, averaged.
std::vector<OwnGradient> reduced_gradients(TrainedModel& model) {
  if (model.sharded != nullptr) return model.sharded->own_gradients();
  if (model.tensor != nullptr) {
    PipelineRank* const stage = model.pipeline.get();
    model.tensor->sum_row_gradients();
    if (stage == nullptr)
      model.tensor->average_gradients();
    else
      stage->reduce(model.reduce);
    return model.tensor->own_gradients([&](const std::string& parameter) {
      return stage == nullptr || stage->is_first_reader(parameter);
    });
  }
  std::vector<OwnGradient> own;
  for (const auto& optimizer : model.optimizers) {
    optimizer->reduce();
    for (const OwnGradient& one : optimizer->own_gradients()) own.push_back(one);
  }
  return own;
}

// The ranks' squares go as three fp32 numbers each, which hold all bits of a double.
double sum_over_ranks(double rest, Communicator& world) {
  if (!world.device().executes()) {
    world.all_gather({3, DType::kFp32}, {3 * world.size(), DType::kFp32}, "grad_norm");
    return 0;
  }
  std::array<float, 3> mine{};
  for (float& part : mine) {
    part = static_cast<float>(rest);
    rest -= static_cast<double>(part);
  }
  std::vector<float> all(mine.size() * static_cast<std::size_t>(world.size()));
  world.all_gather({mine, DType::kFp32}, {all, DType::kFp32}, "grad_norm");
  double sum = 0;
  for (std::size_t at = 0; at < all.size(); at += mine.size())
    sum += static_cast<double>(all[at]) + static_cast<double>(all[at + 1]) +
           static_cast<double>(all[at + 2]);
  return sum;
}

double update_shares(TrainedModel& model, Communicator& world, std::optional<double> grad_clip,
                     const SchedulePoint& point, const std::function<double()>& loss,
                     const StageObserver* observer, double loss_scale) {
  std::vector<Tensor*> own, counted;
  for (const OwnGradient& one : reduced_gradients(model)) {
    own.push_back(one.gradient);
    if (one.is_counted) counted.push_back(one.gradient);
  }
  divide_by_scale(world.device(), own, loss_scale);
  double squares = 0;
  if (grad_clip)
    squares = ops::grad_squares(world.device(), counted);
  else if (world.device().executes())
    squares = ops::squares_of(counted);
  const double norm = std::sqrt(sum_over_ranks(squares, world));
  if (grad_clip && *grad_clip > 0) {
    const double factor = *grad_clip / (norm + 1e-6);
    ops::grad_scale(world.device(), own, factor < 1 ? static_cast<float>(factor) : 1.0F);
  }
  const bool is_whole = model.sharded == nullptr && model.tensor == nullptr;
  finish_update(trained_decoder(model), model.optimizers, norm, point, loss(),
                is_whole ? observer : nullptr);
  if (model.sharded != nullptr && std::isfinite(norm)) model.sharded->zero_grad();
  return norm;
}

}  // namespace

double update_on_rank(TrainedModel& model, Communicator& world, std::optional<double> grad_clip,
                      const SchedulePoint& point, const std::function<double()>& loss,
                      const StageObserver* observer, double loss_scale) {
  if (model.pipeline != nullptr && model.tensor == nullptr)
    return model.pipeline->update(model, grad_clip, point, loss, observer);
  if (model.shared != nullptr || model.sharded != nullptr || model.tensor != nullptr)
    return update_shares(model, world, grad_clip, point, loss, observer, loss_scale);
  for (Parameter* p : model.decoder.trained_parameters()) {
    CollectiveBuffer gradient(p->grad);
    gradient.dtype = model.reduce.value_or(gradient.dtype);
    world.all_reduce(gradient, Reduce::kAverage, p->name);
  }
  return apply_gradients(model.decoder, model.optimizers, grad_clip, point, loss(), observer,
                         loss_scale);
}

}  // namespace nb
