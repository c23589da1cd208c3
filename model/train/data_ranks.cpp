#include "model/train/data_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/base/check.hpp"
#include "model/collectives/world.hpp"
#include "model/data/batch_hash.hpp"
#include "model/ops/optimizer_ops.hpp"
#include "model/ops/transfer.hpp"
#include "model/optim/adamw.hpp"
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
           {.min = 1}},
          {"zero",
           "1: the ranks share the optimizers' state (ZeRO-1, nanochat's distributed AdamW and "
           "Muon); absent: each has all of it",
           &zero,
           {.min = 1, .max = 1, .omits_absent = true}}};
}

Result<void> check_ranks(const std::optional<MeshSettings>& mesh, std::int64_t parts,
                         const DeviceProfile& profile, Shared shared) {
  if (!mesh) return {};
  if (parts % mesh->dp != 0) {
    const bool is_batches = shared == Shared::kMicroBatches;
    return bad_input(fmt::format(
        "mesh/dp: {} ranks cannot share the {} {}{} of a step evenly; choose a divisor, or another "
        "batch",
        mesh->dp, parts, is_batches ? "micro-batch" : "question",
        parts == 1   ? ""
        : is_batches ? "es"
                     : "s"));
  }
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
    if (first.shared != nullptr)
      model.shared = std::make_unique<LentCommunicator>(device, index, ranks);
  }
  Device device;
  TrainedModel model;
};

DataRanks::DataRanks(TrainedModel& first, const MeshSettings& mesh,
                     const std::function<void(TrainedModel&)>& prepare)
    : first_(first), mesh_(mesh) {
  for (int r = 1; r < mesh.dp; ++r) {
    others_.push_back(std::make_unique<Rank>(first, r, static_cast<int>(mesh.dp)));
    prepare(others_.back()->model);
  }
  if (first.shared != nullptr) shared_state_ = std::make_unique<SharedState>(models());
}
DataRanks::~DataRanks() = default;

std::int64_t DataRanks::size() const { return std::ssize(others_) + 1; }

std::vector<TrainedModel*> DataRanks::models() const {
  std::vector<TrainedModel*> all = {&first_};
  for (const auto& rank : others_) all.push_back(&rank->model);
  return all;
}

void DataRanks::share() {
  const auto copy = [](Tensor& from, Tensor& to) {
    std::ranges::copy(std::as_const(from).host(), to.host().begin());
  };
  for (const auto& rank : others_) {
    const std::vector<Parameter*> from = weights_of(first_.decoder),
                                  to = weights_of(rank->model.decoder);
    for (std::size_t i = 0; i < from.size(); ++i) copy(from[i]->value, to[i]->value);
    if (shared_state_ != nullptr) continue;
    for (std::size_t o = 0; o < first_.optimizers.size(); ++o) {
      const std::vector<NamedState> states = first_.optimizers[o]->state();
      if (states.empty()) continue;  // before the first step
      rank->model.optimizers[o]->allocate_state();
      const std::vector<NamedState> own = rank->model.optimizers[o]->state();
      for (std::size_t i = 0; i < states.size(); ++i) copy(*states[i].tensor, *own[i].tensor);
    }
  }
  if (shared_state_ != nullptr) shared_state_->scatter();
}

void DataRanks::begin(std::int64_t step) {
  Device& device = first_.decoder.device();
  device.synchronize();
  for (const auto& rank : others_) {
    // Of ranks that hold other tensors the clock alone is the same.
    Json state = shared_state_ == nullptr ? device.state() : rank->device.state();
    if (shared_state_ != nullptr) state["clock"] = device.state().at("clock");
    const Result<void> restored = rank->device.restore(state);
    NB_CHECK(restored.has_value(), "[data_ranks] {}", restored.error().message);
    rank->model.decoder.begin_step(step);
  }
}

void DataRanks::run(const std::function<void(TrainedModel&, Communicator&)>& body) {
  const std::vector<TrainedModel*> all = models();
  std::vector<Device*> devices;
  for (TrainedModel* model : all) devices.push_back(&model->decoder.device());
  const Use use = devices.front()->use();
  const Result<void> done = World(devices).run([&](Communicator& world) {
    const UseScope scope(world.device(), use);
    TrainedModel& model = *all[static_cast<std::size_t>(world.rank())];
    if (model.shared != nullptr) model.shared->lend(&world);
    body(model, world);
    if (model.shared != nullptr) model.shared->lend(nullptr);
  });
  if (!done) throw std::runtime_error(done.error().message);
}

double DataRanks::update(TrainedModel& model, Communicator& world, std::optional<double> grad_clip,
                         const SchedulePoint& point, const std::function<double()>& loss) const {
  if (model.shared != nullptr) return update_shares(model, world, grad_clip, point, loss);
  for (Parameter* p : model.decoder.trained_parameters())
    world.all_reduce(CollectiveBuffer(p->grad), Reduce::kAverage, p->name);
  const bool is_first = world.rank() == 0;
  return apply_gradients(model.decoder, model.optimizers, grad_clip, point, is_first ? loss() : 0,
                         is_first ? first_.observer : nullptr);
}

// The ranks' squares go as three fp32 numbers each, which hold all bits of a double.
double DataRanks::update_shares(TrainedModel& model, Communicator& world,
                                std::optional<double> grad_clip, const SchedulePoint& point,
                                const std::function<double()>& loss) const {
  std::vector<Tensor*> own, counted;
  for (const auto& optimizer : model.optimizers) {
    optimizer->reduce();
    for (const OwnGradient& one : optimizer->own_gradients()) {
      own.push_back(one.gradient);
      if (one.is_counted) counted.push_back(one.gradient);
    }
  }
  double rest = grad_clip ? ops::grad_squares(world.device(), counted) : ops::squares_of(counted);
  std::array<float, 3> mine{};
  for (float& part : mine) {
    part = static_cast<float>(rest);
    rest -= static_cast<double>(part);
  }
  std::vector<float> all(mine.size() * static_cast<std::size_t>(world.size()));
  world.all_gather({mine, DType::kFp32}, {all, DType::kFp32}, "grad_norm");
  double squares = 0;
  for (std::size_t at = 0; at < all.size(); at += mine.size())
    squares += static_cast<double>(all[at]) + static_cast<double>(all[at + 1]) +
               static_cast<double>(all[at + 2]);
  const double norm = std::sqrt(squares);
  if (grad_clip && *grad_clip > 0) {
    const double factor = *grad_clip / (norm + 1e-6);
    ops::grad_scale(world.device(), own, factor < 1 ? static_cast<float>(factor) : 1.0F);
  }
  const bool is_first = world.rank() == 0;
  finish_update(model.decoder, model.optimizers, norm, point, is_first ? loss() : 0,
                is_first ? first_.observer : nullptr);
  return norm;
}

Json DataRanks::devices() const {
  if (shared_state_ == nullptr) return nullptr;
  Json all = Json::array();
  for (const auto& rank : others_) all.push_back(rank->device.state());
  return all;
}

Result<void> DataRanks::restore(const Json& devices) {
  if (shared_state_ == nullptr) return {};
  if (!devices.is_array() || devices.size() != others_.size())
    return bad_input("device state: it is not of this many ranks");
  for (std::size_t i = 0; i < others_.size(); ++i)
    NB_TRY_VOID(others_[i]->device.restore(devices[i]));
  return {};
}

std::string DataRanks::unshared() const {
  if (shared_state_ == nullptr) return "";
  std::vector<std::string> names;
  const auto ranks = static_cast<int>(size());
  for (const Parameter* p : first_.decoder.trained_parameters())
    if (p->role != ParameterRole::kMatrix && p->value.count() >= kSmallestShared &&
        !shares_rows(p->value, ranks))
      names.push_back(fmt::format("{} ({} rows)", p->name, p->value.shape()[0]));
  if (names.empty()) return "";
  return fmt::format(
      "mesh/zero: {} ranks cannot share the rows of {}: each keeps the whole optimizer state and "
      "updates all of it, where nanochat stops",
      ranks, fmt::join(names, ", "));
}

StepOutcome DataRanks::step(const StepPlan& plan, const SchedulePoint& point,
                            const std::function<Batch()>& next, const RankPass& pass) {
  const std::int64_t ranks = size(), each = plan.accumulation_steps / ranks;
  NB_CHECK(each * ranks == plan.accumulation_steps, "[data_ranks] {} micro-batches on {} ranks",
           plan.accumulation_steps, ranks);
  begin(point.step);
  Device& device = first_.decoder.device();
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
  std::vector<double> losses(batches.size()), norms(static_cast<std::size_t>(ranks));
  std::vector<std::string> not_finite(norms.size());
  const auto mean_loss = [&] {
    double sum = 0;
    for (const double one : losses) sum += one;
    return sum / static_cast<double>(losses.size());
  };
  run([&](TrainedModel& model, Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    for (std::size_t micro = rank; micro < batches.size(); micro += norms.size()) {
      const Batch& batch = batches[micro];
      const auto number = static_cast<std::int64_t>(micro);
      model.decoder.begin_pass(number);
      losses[micro] = pass(model, batch, number, 1.0 / static_cast<double>(each));
      note_not_finite(not_finite[rank], losses[micro], model.decoder, batch);
      if (plan.gradient_sum) round_gradients(model.decoder, *plan.gradient_sum);
    }
    norms[rank] = update(model, world, plan.grad_clip, point, mean_loss);
    ops::read_scalar(world.device(), "train_loss");
    world.device().synchronize();
  });
  outcome.loss = mean_loss();
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

TrainedModel::TrainedModel(const DecoderConfig& config, Device& device) : decoder(config, device) {}
TrainedModel::~TrainedModel() = default;

void prepare_ranks(const std::optional<MeshSettings>& mesh, TrainedModel& model,
                   const std::function<void(TrainedModel&)>& prepare) {
  const std::int64_t ranks = mesh ? mesh->dp : 1;
  if (ranks > 1 && mesh->zero)
    model.shared =
        std::make_unique<LentCommunicator>(model.decoder.device(), 0, static_cast<int>(ranks));
  prepare(model);
  if (ranks > 1) model.ranks = std::make_unique<DataRanks>(model, *mesh, prepare);
}

OptimizerList whole_optimizers(const TrainedModel& model) {
  if (model.ranks == nullptr || model.ranks->shared_state() == nullptr) return model.optimizers;
  return model.ranks->shared_state()->whole();
}

void add_mesh(const TrainedModel& model, Json& identity) {
  if (model.ranks == nullptr) return;
  identity["mesh"] = {{"dp", model.ranks->size()}};
  if (model.ranks->mesh().zero) identity["mesh"]["zero"] = *model.ranks->mesh().zero;
}

std::vector<TrainedModel*> models_of(TrainedModel& model) {
  return model.ranks != nullptr ? model.ranks->models() : std::vector{&model};
}

StepOutcome run_step(TrainedModel& model, const StepPlan& plan, const SchedulePoint& point,
                     const std::function<Batch()>& next) {
  if (model.ranks == nullptr)
    return run_step(model.decoder, model.optimizers, plan, point, next, model.observer);
  return model.ranks->step(plan, point, next,
                           [](TrainedModel& one, const Batch& batch, std::int64_t, double share) {
                             return static_cast<double>(one.decoder.loss_and_backward(
                                 batch.inputs, batch.targets, batch.rows, batch.length, share));
                           });
}

}  // namespace nb
