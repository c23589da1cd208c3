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

// Smaller tensors are not cut: every rank updates all of them. nanochat's optim.py @ 92d63d4.
constexpr std::int64_t kSmallestCut = 1024;
bool is_cut(const Tensor& tensor, int ranks) { return ranks > 1 && tensor.count() >= kSmallestCut; }

// The slice of one rank: first size divided by the ranks.
Shape slice_of(const Shape& shape, int ranks) {
  NB_CHECK(shape[0] % ranks == 0, "[adamw] {} rows over {} ranks", shape[0], ranks);
  if (shape.rank() == 1) return {shape[0] / ranks};
  return {shape[0] / ranks, shape[1]};
}

}  // namespace

std::string_view name(AdamWDenominator denominator) {
  return denominator == AdamWDenominator::kScaledStep ? "scaled_step" : "bias_corrected";
}

AdamW::AdamW(std::vector<AdamWGroup> groups, const AdamWRules& rules, Device& device,
             Communicator* communicator)
    : groups_(std::move(groups)), rules_(rules), device_(device), communicator_(communicator) {
  NB_CHECK(rank_count(communicator) == 1 || !device.executes(),
           "[adamw] sharded steps run on dry devices only");
}

void AdamW::allocate_state() {
  if (!moments_.empty()) return;
  moments_.resize(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const Parameter& p = *groups_[i].parameter;
    const bool is_table =
        p.role == ParameterRole::kEmbedding || p.role == ParameterRole::kValueEmbedding;
    const DType dtype = is_table ? p.value.dtype() : device_.numerics().adam_moments;
    const int ranks = rank_count(communicator_);
    const Shape shape = is_cut(p.value, ranks) ? slice_of(p.value.shape(), ranks) : p.value.shape();
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

void AdamW::step_one(const AdamWGroup& group, Moments& moments, const SchedulePoint& point) {
  Parameter& p = *group.parameter;
  const kernels::AdamWSettings settings = {
      .learning_rate = group.learning_rate * point.lr_multiplier,
      .beta1 = rules_.beta1,
      .beta2 = rules_.beta2,
      .epsilon = rules_.epsilon,
      .weight_decay = rules_.weight_decay,
      .step = point.step + 1,
      .denominator = rules_.denominator};
  ops::adamw(device_, p.value, p.grad, moments.m, moments.v, settings, p.name);
}

// All reductions start first; then each parameter waits for its own, is updated and gathered
// (nanochat adamw.py, DistAdamW).
void AdamW::step_sharded(const SchedulePoint& point) {
  const BesideScope scope(*communicator_);
  const int ranks = communicator_->size();
  struct Reduced {
    Tensor gradient;  // of the own slice; empty: the whole one, in place
    std::int64_t end_ns = 0;
  };
  std::vector<Reduced> reduced(groups_.size());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Parameter& p = *groups_[i].parameter;
    if (is_cut(p.value, ranks)) {
      reduced[i].gradient =
          device_.allocate(slice_of(p.value.shape(), ranks), p.grad.dtype(), "adamw.gradient_slice",
                           Lifetime::kPassing, BlockUse::kGradient);
      communicator_->reduce_scatter(CollectiveBuffer(p.grad), CollectiveBuffer(reduced[i].gradient),
                                    Reduce::kAverage, p.name);
    } else {
      communicator_->all_reduce(CollectiveBuffer(p.grad), Reduce::kAverage, p.name);
    }
    reduced[i].end_ns = communicator_->last_end_ns();
  }
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Parameter& p = *groups_[i].parameter;
    device_.wait_for(reduced[i].end_ns);
    if (reduced[i].gradient.empty()) {
      step_one(groups_[i], moments_[i], point);
      continue;
    }
    // The slice of the parameter itself is a view: no memory of its own. A dry device: rates change
    // nothing.
    const std::int64_t count = reduced[i].gradient.count();
    device_.run({.kind = OpKind::kAdamW,
                 .label = p.name,
                 .count = count,
                 .dtype = p.value.dtype(),
                 .inputs = {nullptr, &reduced[i].gradient, &moments_[i].m, &moments_[i].v}},
                [] {});
    communicator_->all_gather(CollectiveBuffer(count, p.value.dtype()), CollectiveBuffer(p.value),
                              p.name);
  }
  device_.wait_for(communicator_->last_end_ns());
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
