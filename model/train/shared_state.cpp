#include "model/train/shared_state.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "harness/base/check.hpp"
#include "model/optim/row_shards.hpp"

namespace nb {
namespace {

// Of the parameter that a state belongs to.
Shape shape_of(const std::string& state, Decoder& decoder) {
  for (const Parameter* p : decoder.trained_parameters())
    for (const char* prefix : {"adamw.m.", "adamw.v.", "muon.buffer."})
      if (state == prefix + p->name) return p->value.shape();
  NB_CHECK(false, "[shared_state] {} belongs to no parameter", state);
  return {};
}

}  // namespace

// Of the optimizers at one place of the ranks' lists.
class SharedState::Whole final : public Optimizer {
 public:
  Whole(std::vector<Optimizer*> parts, int pieces, Decoder& decoder, Device& host)
      : parts_(std::move(parts)), pieces_(pieces), decoder_(decoder), host_(host) {}

  void step(const SchedulePoint&) override { NB_CHECK(false, "[shared_state] does not train"); }
  void allocate_state() override {
    if (!tensors_.empty()) return;
    for (Optimizer* part : parts_) {
      part->allocate_state();
      for (const NamedState& one : part->state())
        if (!tensors_.contains(one.name))
          tensors_[one.name] = host_.allocate(shape_of(one.name, decoder_), one.tensor->dtype(),
                                              one.name, Lifetime::kLasting);
    }
  }
  std::vector<NamedState> state() override {
    std::vector<NamedState> named;
    for (auto& [name, tensor] : tensors_) named.push_back({name, &tensor});
    return named;
  }

  bool has_begun() const { return !parts_.front()->state().empty() || !tensors_.empty(); }
  void gather() {
    if (!has_begun()) return;
    allocate_state();
    each_part([](std::span<float> whole, Tensor& part) {
      std::ranges::copy(std::as_const(part).host(), whole.begin());
    });
  }
  void scatter() {
    each_part([](std::span<float> whole, Tensor& part) {
      std::ranges::copy(whole, part.host().begin());
    });
    tensors_.clear();
  }

 private:
  // body(its place in the whole, the part) for all tensors of all ranks. A part of the whole's size
  // is the whole.
  template <class Body>
  void each_part(const Body& body) {
    if (tensors_.empty()) return;
    for (std::size_t rank = 0; rank < parts_.size(); ++rank)
      for (const NamedState& one : parts_[rank]->state()) {
        Tensor& tensor = tensors_.at(one.name);
        const std::span<float> whole = tensor.host();
        const auto count = static_cast<std::size_t>(one.tensor->count());
        const RowShard rows = row_shard(tensor.shape(), static_cast<int>(rank) % pieces_, pieces_);
        body(count == whole.size() ? whole
                                   : whole.subspan(static_cast<std::size_t>(rows.first()), count),
             *one.tensor);
      }
  }

  std::vector<Optimizer*> parts_;  // one a rank
  int pieces_;                     // of a whole; the same on every so many ranks
  Decoder& decoder_;
  Device& host_;
  std::map<std::string, Tensor> tensors_;
};

SharedState::SharedState(std::vector<TrainedModel*> models)
    : host_(models.front()->decoder.device().profile(), ExecutionMode::kExecute,
            {.trace_steps = 0}) {
  for (std::size_t o = 0; o < models.front()->optimizers.size(); ++o) {
    std::vector<Optimizer*> parts;
    for (TrainedModel* model : models) parts.push_back(model->optimizers[o].get());
    const auto& plan = models.front()->shard_plan;
    const int pieces = plan ? plan->pieces : static_cast<int>(parts.size());
    whole_.push_back(
        std::make_unique<Whole>(std::move(parts), pieces, models.front()->decoder, host_));
  }
}

void SharedState::gather() {
  for (const auto& one : whole_) static_cast<Whole&>(*one).gather();
}

void SharedState::scatter() {
  for (const auto& one : whole_) static_cast<Whole&>(*one).scatter();
}

}  // namespace nb
