#include "model/train/shared_state.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "harness/base/check.hpp"
#include "model/optim/row_shards.hpp"
#include "model/train/tensor_cuts.hpp"

namespace nb {
namespace {

// That a state belongs to, trained by whichever rank.
const Parameter& parameter_of(const std::string& state, Decoder& decoder) {
  const Parameter* found = nullptr;
  for (const std::vector<Parameter>* some :
       {&decoder.parameters(), &decoder.adapters().parameters()})
    for (const Parameter& p : *some)
      for (const char* prefix : {"adamw.m.", "adamw.v.", "muon.buffer."})
        if (state == prefix + p.name) found = &p;
  NB_CHECK(found != nullptr, "[shared_state] {} belongs to no parameter", state);
  return *found;
}

// Which elements a part has.
enum class PartsAre : std::uint8_t { kRows, kTensorCuts };

// A rank's optimizer, whose tensors are piece `piece` of the whole ones.
struct Part {
  Optimizer* optimizer;
  int piece;
};

}  // namespace

// Of some optimizers of all ranks: those at one place of their lists, or all of a pipeline's.
class SharedState::Whole final : public Optimizer {
 public:
  Whole(std::vector<Part> parts, int pieces, PartsAre are, Decoder& decoder, Device& host)
      : parts_(std::move(parts)), pieces_(pieces), are_(are), decoder_(decoder), host_(host) {}

  void step(const SchedulePoint&) override { NB_CHECK(false, "[shared_state] does not train"); }
  void allocate_state() override {
    if (!tensors_.empty()) return;
    for (const Part& part : parts_) {
      part.optimizer->allocate_state();
      for (const NamedState& one : part.optimizer->state())
        if (!tensors_.contains(one.name))
          tensors_[one.name] = host_.allocate(parameter_of(one.name, decoder_).value.shape(),
                                              one.tensor->dtype(), one.name, Lifetime::kLasting);
    }
  }
  std::vector<NamedState> state() override {
    std::vector<NamedState> named;
    for (auto& [name, tensor] : tensors_) named.push_back({name, &tensor});
    return named;
  }

  bool has_begun() const { return !parts_.front().optimizer->state().empty() || !tensors_.empty(); }
  void gather() {
    if (!has_begun()) return;
    allocate_state();
    each_part([](std::span<float> whole, std::span<float> part) {
      std::ranges::copy(part, whole.begin());
    });
  }
  void scatter() {
    each_part([](std::span<float> whole, std::span<float> part) {
      std::ranges::copy(whole, part.begin());
    });
    tensors_.clear();
  }

 private:
  // body(its place in the whole, the part or some of it) for all tensors of all ranks. A part of
  // the whole's size is the whole.
  template <class Body>
  void each_part(const Body& body) {
    if (tensors_.empty()) return;
    for (const auto& [optimizer, piece] : parts_)
      for (const NamedState& one : optimizer->state()) {
        Tensor& tensor = tensors_.at(one.name);
        const std::span<float> whole = tensor.host(), part = one.tensor->host();
        if (are_ == PartsAre::kTensorCuts) {
          each_run(parameter_of(one.name, decoder_).name, tensor.shape(), one.tensor->shape(),
                   piece, [&](std::size_t at, std::size_t from, std::size_t run) {
                     body(whole.subspan(at, run), part.subspan(from, run));
                   });
          continue;
        }
        const auto count = static_cast<std::size_t>(one.tensor->count());
        const RowShard rows = row_shard(tensor.shape(), piece, pieces_);
        body(count == whole.size() ? whole
                                   : whole.subspan(static_cast<std::size_t>(rows.first()), count),
             part);
      }
  }

  std::vector<Part> parts_;
  int pieces_;  // of a whole
  PartsAre are_;
  Decoder& decoder_;
  Device& host_;
  std::map<std::string, Tensor> tensors_;
};

SharedState::SharedState(std::vector<TrainedModel*> models)
    : host_(models.front()->decoder.device().profile(), ExecutionMode::kExecute,
            {.trace_steps = 0}) {
  const TrainedModel& first = *models.front();
  const PartsAre are = first.tensor_plan ? PartsAre::kTensorCuts : PartsAre::kRows;
  const int pieces = first.tensor_plan     ? first.tensor_plan->parts
                     : first.shard_plan    ? first.shard_plan->pieces
                     : first.pipeline_plan ? 1
                                           : static_cast<int>(models.size());
  const auto add = [&](std::vector<Part> parts) {
    whole_.push_back(
        std::make_unique<Whole>(std::move(parts), pieces, are, models.front()->decoder, host_));
  };
  const auto part = [&](std::size_t rank, std::size_t optimizer) {
    return Part{models[rank]->optimizers[optimizer].get(), static_cast<int>(rank) % pieces};
  };
  if (first.pipeline != nullptr) {  // each has state of its own, or the same as others
    std::vector<Part> parts;
    for (std::size_t rank = 0; rank < models.size(); ++rank)
      for (std::size_t o = 0; o < models[rank]->optimizers.size(); ++o)
        parts.push_back(part(rank, o));
    add(std::move(parts));
    return;
  }
  for (std::size_t o = 0; o < first.optimizers.size(); ++o) {
    std::vector<Part> parts;
    for (std::size_t rank = 0; rank < models.size(); ++rank) parts.push_back(part(rank, o));
    add(std::move(parts));
  }
}

void SharedState::gather() {
  for (const auto& one : whole_) static_cast<Whole&>(*one).gather();
}

void SharedState::scatter() {
  for (const auto& one : whole_) static_cast<Whole&>(*one).scatter();
}

}  // namespace nb
