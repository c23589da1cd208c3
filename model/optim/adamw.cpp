#include "model/optim/adamw.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

int rank_count(const Communicator* communicator) {
  return communicator == nullptr ? 1 : communicator->size();
}

// The slice of one rank: first size divided by the ranks.
Shape slice_of(const Shape& shape, int ranks) {
  if (shape.rank() == 1) return {shape[0] / ranks};
  return {shape[0] / ranks, shape[1]};
}

}  // namespace

std::string_view name(AdamWDenominator denominator) {
  return denominator == AdamWDenominator::kScaledStep ? "scaled_step" : "bias_corrected";
}

bool shares_rows(const Tensor& tensor, int ranks) {
  return ranks > 1 && tensor.count() >= kSmallestShared && tensor.shape()[0] % ranks == 0;
}

AdamW::AdamW(std::vector<AdamWGroup> groups, const AdamWRules& rules, Device& device,
             Communicator* communicator)
    : groups_(std::move(groups)), rules_(rules), device_(device), communicator_(communicator) {}

void AdamW::allocate_state() {
  if (!moments_.empty()) return;
  moments_.resize(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Parameter& p = *groups_[i].parameter;
    const bool is_table =
        p.role == ParameterRole::kEmbedding || p.role == ParameterRole::kValueEmbedding;
    const DType dtype = is_table ? p.value.dtype() : device_.numerics().adam_moments;
    const int ranks = rank_count(communicator_);
    const Shape shape =
        shares_rows(p.value, ranks) ? slice_of(p.value.shape(), ranks) : p.value.shape();
    for (const auto& [tensor, prefix] :
         {std::pair{&moments_[i].m, "adamw.m."}, std::pair{&moments_[i].v, "adamw.v."}}) {
      *tensor =
          device_.allocate(shape, dtype, prefix + p.name, Lifetime::kLasting, BlockUse::kOptimizer);
      ops::zero(device_, *tensor, tensor->name());
    }
  }
}

void AdamW::step(const SchedulePoint& point) {
  allocate_state();
  for (const AdamWGroup& group : groups_)
    NB_CHECK(!group.parameter->grad.empty(), "[adamw] {} has no gradient", group.parameter->name);
  if (rank_count(communicator_) > 1) return step_sharded(point);
  for (std::size_t i = 0; i < groups_.size(); ++i) step_one(groups_[i], moments_[i], point);
}

kernels::AdamWSettings AdamW::settings_of(const AdamWGroup& group,
                                          const SchedulePoint& point) const {
  return {.learning_rate = group.learning_rate * point.lr_multiplier,
          .beta1 = rules_.beta1,
          .beta2 = rules_.beta2,
          .epsilon = rules_.epsilon,
          .weight_decay = rules_.weight_decay,
          .step = point.step - point.skipped + 1,
          .denominator = rules_.denominator};
}

void AdamW::step_one(const AdamWGroup& group, Moments& moments, const SchedulePoint& point) {
  Parameter& p = *group.parameter;
  ops::adamw(device_, p.value, p.grad, moments.m, moments.v, settings_of(group, point), p.name);
}

void AdamW::reduce() {
  const int ranks = rank_count(communicator_);
  if (ranks == 1) return;
  allocate_state();
  const BesideScope scope(*communicator_);
  reduced_.resize(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Parameter& p = *groups_[i].parameter;
    if (shares_rows(p.value, ranks)) {
      reduced_[i].gradient =
          device_.allocate(slice_of(p.value.shape(), ranks), p.grad.dtype(), "adamw.gradient_slice",
                           Lifetime::kPassing, BlockUse::kGradient);
      communicator_->reduce_scatter(CollectiveBuffer(p.grad),
                                    CollectiveBuffer(reduced_[i].gradient), Reduce::kAverage,
                                    p.name);
    } else {
      communicator_->all_reduce(CollectiveBuffer(p.grad), Reduce::kAverage, p.name);
    }
    reduced_[i].end_ns = communicator_->last_end_ns();
  }
}

std::vector<OwnGradient> AdamW::own_gradients() {
  std::vector<OwnGradient> own;
  for (std::size_t i = 0; i < reduced_.size(); ++i) {
    if (reduced_[i].gradient.empty())
      own.push_back({&groups_[i].parameter->grad, communicator_->rank() == 0});
    else
      own.push_back({&reduced_[i].gradient, true});
  }
  return own;
}

// All reductions start first; then each parameter waits for its own, is updated and gathered
// (nanochat adamw.py, DistAdamW).
void AdamW::step_sharded(const SchedulePoint& point) {
  if (reduced_.empty()) reduce();
  const BesideScope scope(*communicator_);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    device_.wait_for(reduced_[i].end_ns);
    if (reduced_[i].gradient.empty())
      step_one(groups_[i], moments_[i], point);
    else
      step_slice(i, point);
  }
  device_.wait_for(communicator_->last_end_ns());
  reduced_.clear();
}

void AdamW::step_slice(std::size_t group, const SchedulePoint& point) {
  Parameter& p = *groups_[group].parameter;
  Tensor& gradient = reduced_[group].gradient;
  const std::int64_t count = gradient.count(), first = communicator_->rank() * count;
  ops::adamw_slice(device_, p.value, first, gradient, moments_[group].m, moments_[group].v,
                   settings_of(groups_[group], point), p.name);
  const auto own = [&] {
    return p.value.host().subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
  };
  communicator_->all_gather(device_.executes() ? CollectiveBuffer(own(), p.value.dtype())
                                               : CollectiveBuffer(count, p.value.dtype()),
                            CollectiveBuffer(p.value), p.name);
}

std::vector<NamedState> AdamW::state() {
  std::vector<NamedState> named;
  for (std::size_t i = 0; i < moments_.size(); ++i) {
    named.push_back({"adamw.m." + groups_[i].parameter->name, &moments_[i].m});
    named.push_back({"adamw.v." + groups_[i].parameter->name, &moments_[i].v});
  }
  return named;
}

}  // namespace nb
