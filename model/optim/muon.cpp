#include "model/optim/muon.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/ops/transfer.hpp"

namespace nb {
namespace {

bool is_single(const Communicator* communicator) {
  return communicator == nullptr || communicator->size() == 1;
}

}  // namespace

Muon::Muon(std::vector<Parameter*> parameters, double learning_rate, Device& device,
           Communicator* communicator)
    : parameters_(std::move(parameters)),
      learning_rate_(learning_rate),
      device_(device),
      communicator_(communicator) {
  NB_CHECK(is_single(communicator) || !device.executes(),
           "[muon] sharded steps run on dry devices only");
}

// Shapes in ascending order; within one, the order of the model.
std::vector<std::vector<Parameter*>> Muon::shape_groups() const {
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<Parameter*>> by_shape;
  for (Parameter* p : parameters_) {
    by_shape[{p->value.shape()[0], p->value.shape()[1]}].push_back(p);
  }
  std::vector<std::vector<Parameter*>> groups;
  for (auto& [shape, group] : by_shape) groups.push_back(std::move(group));
  return groups;
}

std::vector<Parameter*> Muon::owned() const {
  if (is_single(communicator_)) return parameters_;
  std::vector<Parameter*> mine;
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  for (const auto& group : shape_groups()) {
    for (std::size_t base = 0; base < group.size(); base += ranks) {
      const std::size_t at = base + static_cast<std::size_t>(communicator_->rank());
      if (at < group.size()) mine.push_back(group[at]);
    }
  }
  return mine;
}

void Muon::allocate_state() {
  if (!buffers_.empty()) return;
  for (const Parameter* p : owned()) {
    buffers_.push_back(device_.allocate(p->value.shape(), device_.numerics().muon_momentum,
                                        "muon.buffer." + p->name, Lifetime::kLasting,
                                        BlockUse::kOptimizer));
    ops::zero(device_, buffers_.back(), buffers_.back().name());
  }
}

void Muon::update(std::span<const ops::MuonMatrix> matrices, const SchedulePoint& point) {
  ops::muon(device_, matrices, point.momentum, learning_rate_ * point.lr_multiplier);
}

void Muon::step(const SchedulePoint& point) {
  allocate_state();
  for (const Parameter* p : parameters_) {
    NB_CHECK(!p->grad.empty(), "[muon] {} has no gradient", p->name);
  }
  if (!is_single(communicator_)) return step_sharded(point);
  std::vector<ops::MuonMatrix> matrices;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& p = *parameters_[i];
    matrices.push_back({p.value, p.grad, buffers_[i], p.name});
  }
  update(matrices, point);
}

void Muon::step_sharded(const SchedulePoint& point) {
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  const auto rank = static_cast<std::size_t>(communicator_->rank());
  const auto groups = shape_groups();
  const auto each_block = [&](const auto& body) {
    for (const auto& group : groups) {
      for (std::size_t base = 0; base < group.size(); base += ranks) body(group, base);
    }
  };
  // All reductions start first, beside whatever is still to compute; then each block waits for its
  // own, updates its member and starts the gathering of the next (nanochat muon.py, DistMuon).
  const BesideScope scope(*communicator_);
  std::vector<std::int64_t> reduced_ns;
  // Missing members of the last block are padded with one zero buffer; the owner's gradient
  // receives the mean.
  each_block([&](const std::vector<Parameter*>& group, std::size_t base) {
    const std::int64_t count = group[base]->value.count();
    communicator_->reduce_scatter(CollectiveBuffer(count * communicator_->size(), DType::kFp32),
                                  CollectiveBuffer(count, DType::kFp32), Reduce::kAverage,
                                  group[base]->name);
    reduced_ns.push_back(communicator_->last_end_ns());
  });
  std::size_t next = 0, block = 0;
  each_block([&](const std::vector<Parameter*>& group, std::size_t base) {
    device_.wait_for(reduced_ns[block++]);
    if (base + rank < group.size()) {
      Parameter& p = *group[base + rank];
      const ops::MuonMatrix matrix = {p.value, p.grad, buffers_[next++], p.name};
      update({&matrix, 1}, point);
    }
    const std::int64_t count = group[base]->value.count();
    communicator_->all_gather(CollectiveBuffer(count, DType::kFp32),
                              CollectiveBuffer(count * communicator_->size(), DType::kFp32),
                              group[base]->name);
  });
  device_.wait_for(communicator_->last_end_ns());
}

std::vector<NamedState> Muon::state() {
  std::vector<NamedState> named;
  const std::vector<Parameter*> mine = owned();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    named.push_back({"muon.buffer." + mine[i]->name, &buffers_[i]});
  }
  return named;
}

}  // namespace nb
