#include "model/train/data_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/base/check.hpp"
#include "model/collectives/world.hpp"
#include "model/data/batch_hash.hpp"
#include "model/ops/transfer.hpp"
#include "model/optim/groups.hpp"
#include "model/train/not_finite.hpp"

namespace nb {
namespace {

// Of a model, adapters last.
std::vector<Parameter*> weights_of(Decoder& decoder) {
  std::vector<Parameter*> all;
  for (Parameter& p : decoder.parameters()) all.push_back(&p);
  for (Parameter& p : decoder.adapters()) all.push_back(&p);
  return all;
}

}  // namespace

FieldList MeshSettings::fields() {
  return {{"dp",
           "data-parallel ranks: cards that each train a copy on their share of a step",
           &dp,
           {.min = 1}}};
}

Result<void> check_ranks(const std::optional<MeshSettings>& mesh, std::int64_t micro_batches,
                         const DeviceProfile& profile) {
  if (!mesh) return {};
  if (micro_batches % mesh->dp != 0)
    return bad_input(fmt::format(
        "mesh/dp: {} ranks cannot share the {} micro-batch{} of a step evenly; choose a divisor, "
        "or another batch",
        mesh->dp, micro_batches, micro_batches == 1 ? "" : "es"));
  if (const std::int64_t most = profile.links.devices.whole(); mesh->dp > most)
    return bad_input(fmt::format(
        "mesh/dp: {} ranks of {}, which has {} card{} in a node; ranks train within one node",
        mesh->dp, profile.name(), most, most == 1 ? "" : "s"));
  return {};
}

struct DataRanks::Rank {
  Rank(const TrainedModel& first, int index, int ranks)
      : device(first.decoder.device().profile(), ExecutionMode::kExecute,
               {.index = index, .ranks = ranks, .trace_steps = 0}),
        model(first.decoder.config(), device) {
    model.adamw_denominator = first.adamw_denominator;
  }
  Device device;
  TrainedModel model;
};

DataRanks::DataRanks(TrainedModel& first, std::int64_t ranks,
                     const std::function<void(TrainedModel&)>& prepare)
    : first_(first) {
  for (int r = 1; r < ranks; ++r) {
    others_.push_back(std::make_unique<Rank>(first, r, static_cast<int>(ranks)));
    prepare(others_.back()->model);
  }
}
DataRanks::~DataRanks() = default;

std::int64_t DataRanks::size() const { return std::ssize(others_) + 1; }

void DataRanks::share() {
  const auto copy = [](Tensor& from, Tensor& to) {
    std::ranges::copy(std::as_const(from).host(), to.host().begin());
  };
  for (const auto& rank : others_) {
    const std::vector<Parameter*> from = weights_of(first_.decoder),
                                  to = weights_of(rank->model.decoder);
    for (std::size_t i = 0; i < from.size(); ++i) copy(from[i]->value, to[i]->value);
    for (std::size_t o = 0; o < first_.optimizers.size(); ++o) {
      const std::vector<NamedState> states = first_.optimizers[o]->state();
      if (states.empty()) continue;  // before the first step
      rank->model.optimizers[o]->allocate_state();
      const std::vector<NamedState> own = rank->model.optimizers[o]->state();
      for (std::size_t i = 0; i < states.size(); ++i) copy(*states[i].tensor, *own[i].tensor);
    }
  }
}

StepOutcome DataRanks::step(const StepPlan& plan, const SchedulePoint& point,
                            const std::function<Batch()>& next) {
  const std::int64_t ranks = size(), each = plan.accumulation_steps / ranks;
  NB_CHECK(each * ranks == plan.accumulation_steps, "[data_ranks] {} micro-batches on {} ranks",
           plan.accumulation_steps, ranks);
  Device& device = first_.decoder.device();
  device.synchronize();
  std::vector<TrainedModel*> models = {&first_};
  std::vector<Device*> devices = {&device};
  for (const auto& rank : others_) {
    const Result<void> restored = rank->device.restore(device.state());
    NB_CHECK(restored.has_value(), "[data_ranks] {}", restored.error().message);
    rank->model.decoder.begin_step(point.step);
    models.push_back(&rank->model);
    devices.push_back(&rank->device);
  }
  StepOutcome outcome;
  BatchHash read;
  std::vector<Batch> batches;
  for (std::int64_t micro = 0; micro < plan.accumulation_steps; ++micro) {
    batches.push_back(next());
    tell_batch(first_.observer, batches.back());
    read.add(batches.back());
    outcome.tokens += batches.back().rows * batches.back().length;
  }
  outcome.batch_hash = read.value();
  const std::int64_t start_ns = device.time_ns();
  const TimeAccount account_before = device.account();
  std::vector<double> losses(batches.size()), norms(models.size());
  std::vector<std::string> not_finite(models.size());
  const Result<void> done = World(devices).run([&](Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    TrainedModel& model = *models[rank];
    for (std::size_t micro = rank; micro < batches.size(); micro += models.size()) {
      const Batch& batch = batches[micro];
      losses[micro] = static_cast<double>(model.decoder.loss_and_backward(
          batch.inputs, batch.targets, batch.rows, batch.length, 1.0 / static_cast<double>(each)));
      note_not_finite(not_finite[rank], losses[micro], model.decoder, batch);
      if (plan.gradient_sum) round_gradients(model.decoder, *plan.gradient_sum);
    }
    for (Parameter* p : model.decoder.trained_parameters())
      world.all_reduce(CollectiveBuffer(p->grad), Reduce::kAverage, p->name);
    double loss = 0;  // of all: every rank has come past an all-reduce
    for (const double one : losses) loss += one;
    norms[rank] = apply_gradients(model.decoder, model.optimizers, plan.grad_clip, point,
                                  loss / static_cast<double>(losses.size()),
                                  rank == 0 ? first_.observer : nullptr);
    ops::read_scalar(*devices[rank], "train_loss");
    devices[rank]->synchronize();
  });
  if (!done) throw std::runtime_error(done.error().message);
  for (const double one : losses) outcome.loss += one;
  outcome.loss /= static_cast<double>(losses.size());
  outcome.grad_norm = norms.front();
  for (const std::string& where : not_finite)
    if (outcome.not_finite.empty()) outcome.not_finite = where;
  outcome.time_ns = device.time_ns() - start_ns;
  outcome.account = device.account() - account_before;
  return outcome;
}

std::vector<std::string> DataRanks::differing() const {
  std::vector<std::string> names;
  const std::vector<Parameter*> mine = weights_of(first_.decoder);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto bits = [&](Decoder& decoder) {
      return std::as_bytes(std::as_const(weights_of(decoder)[i]->value).host());
    };
    const auto is_same = [&](const auto& rank) {
      return std::ranges::equal(bits(first_.decoder), bits(rank->model.decoder));
    };
    if (!std::ranges::all_of(others_, is_same)) names.push_back(mine[i]->name);
  }
  return names;
}

std::unique_ptr<DataRanks> ranks_of(const std::optional<MeshSettings>& mesh, TrainedModel& model,
                                    const std::function<void(TrainedModel&)>& prepare) {
  if (!mesh || mesh->dp == 1) return nullptr;
  auto ranks = std::make_unique<DataRanks>(model, mesh->dp, prepare);
  model.ranks = ranks.get();
  return ranks;
}

StepOutcome run_step(TrainedModel& model, const StepPlan& plan, const SchedulePoint& point,
                     const std::function<Batch()>& next) {
  if (model.ranks != nullptr) return model.ranks->step(plan, point, next);
  return run_step(model.decoder, model.optimizers, plan, point, next, model.observer);
}

}  // namespace nb
