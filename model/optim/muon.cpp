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
      communicator_(communicator) {}

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

// As many matrices of one shape as ranks, at most; member r is rank r's.
struct Muon::Block {
  std::vector<Parameter*> members;
  Parameter* own = nullptr;  // null: this rank has none
  std::int64_t count() const { return members.front()->value.count(); }
};

std::vector<Muon::Block> Muon::blocks() const {
  std::vector<Block> all;
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  const auto rank = static_cast<std::size_t>(communicator_->rank());
  for (const auto& group : shape_groups())
    for (std::size_t base = 0; base < group.size(); base += ranks) {
      Block& block = all.emplace_back();
      for (std::size_t at = base; at < std::min(base + ranks, group.size()); ++at)
        block.members.push_back(group[at]);
      if (rank < block.members.size()) block.own = block.members[rank];
    }
  return all;
}

std::vector<Parameter*> Muon::owned() const {
  if (is_single(communicator_)) return parameters_;
  std::vector<Parameter*> mine;
  for (const Block& block : blocks())
    if (block.own != nullptr) mine.push_back(block.own);
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

// All reductions start first, beside whatever is still to compute (nanochat muon.py, DistMuon).
// Missing members of the last block are padded with zeros; the owner's gradient receives the mean.
// The tensors lie where they are: putting them side by side is the host's affair alone.
void Muon::reduce() {
  if (is_single(communicator_)) return;
  allocate_state();
  const BesideScope scope(*communicator_);
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  for (const Block& block : blocks()) {
    const std::int64_t count = block.count();
    const std::string& label = block.members.front()->name;
    if (!device_.executes()) {
      communicator_->reduce_scatter(CollectiveBuffer(count * communicator_->size(), DType::kFp32),
                                    CollectiveBuffer(count, DType::kFp32), Reduce::kAverage, label);
    } else {
      std::vector<float> all(static_cast<std::size_t>(count) * ranks),
          mean(static_cast<std::size_t>(count));
      auto out = all.begin();
      for (const Parameter* p : block.members)
        out = std::ranges::copy(std::as_const(p->grad).host(), out).out;
      communicator_->reduce_scatter(CollectiveBuffer(all, DType::kFp32),
                                    CollectiveBuffer(mean, DType::kFp32), Reduce::kAverage, label);
      if (block.own != nullptr) std::ranges::copy(mean, block.own->grad.host().begin());
    }
    reduced_ns_.push_back(communicator_->last_end_ns());
  }
}

std::vector<OwnGradient> Muon::own_gradients() {
  std::vector<OwnGradient> own;
  if (!reduced_ns_.empty())
    for (Parameter* p : owned()) own.push_back({&p->grad, true});
  return own;
}

// Each block waits for its own reduction, updates its member and starts the gathering of the next.
void Muon::step_sharded(const SchedulePoint& point) {
  if (reduced_ns_.empty()) reduce();
  const BesideScope scope(*communicator_);
  const auto ranks = static_cast<std::size_t>(communicator_->size());
  std::size_t next = 0, number = 0;
  for (const Block& block : blocks()) {
    device_.wait_for(reduced_ns_[number++]);
    if (block.own != nullptr) {
      Parameter& p = *block.own;
      const ops::MuonMatrix matrix = {p.value, p.grad, buffers_[next++], p.name};
      update({&matrix, 1}, point);
    }
    const std::int64_t count = block.count();
    const std::string& label = block.members.front()->name;
    if (!device_.executes()) {
      communicator_->all_gather(CollectiveBuffer(count, DType::kFp32),
                                CollectiveBuffer(count * communicator_->size(), DType::kFp32),
                                label);
      continue;
    }
    std::vector<float> own(static_cast<std::size_t>(count)), all(own.size() * ranks);
    if (block.own != nullptr)
      std::ranges::copy(std::as_const(block.own->value).host(), own.begin());
    communicator_->all_gather(CollectiveBuffer(own, DType::kFp32),
                              CollectiveBuffer(all, DType::kFp32), label);
    for (std::size_t m = 0; m < block.members.size(); ++m)
      std::ranges::copy(std::span(all).subspan(m * own.size(), own.size()),
                        block.members[m]->value.host().begin());
  }
  device_.wait_for(communicator_->last_end_ns());
  reduced_ns_.clear();
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
