#include "model/train/data_ranks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <list>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "harness/base/check.hpp"
#include "model/collectives/message.hpp"
#include "model/collectives/processes.hpp"
#include "model/collectives/remote_ranks.hpp"
#include "model/collectives/world.hpp"
#include "model/data/batch_hash.hpp"
#include "model/ops/transfer.hpp"
#include "model/optim/groups.hpp"
#include "model/train/disturbance.hpp"
#include "model/train/not_finite.hpp"

namespace nb {
namespace {

// Of a model, adapters last.
std::vector<Parameter*> weights_of(Decoder& decoder) {
  std::vector<Parameter*> all;
  for (Parameter& p : decoder.parameters()) all.push_back(&p);
  for (Parameter& p : decoder.adapters().parameters()) all.push_back(&p);
  return all;
}

// Of the leading process, so that all go on or end.
void share_outcome(Processes& processes, StepOutcome& outcome) {
  MessageWriter news;
  news.put(outcome.loss).put(outcome.grad_norm).put_text(outcome.not_finite);
  if (processes.leads()) return processes.tell(JobNews::kOutcome, news.bytes());
  const std::string heard = processes.hear(JobNews::kOutcome);
  MessageReader message(heard);
  outcome.loss = message.get<double>();
  outcome.grad_norm = message.get<double>();
  outcome.not_finite = message.get_text();
}

}  // namespace

struct DataRanks::Rank {
  Rank(const TrainedModel& first, int index, int ranks)
      : device(first.decoder.device().profile(), ExecutionMode::kExecute,
               {.index = index, .ranks = ranks, .trace_steps = 0}),
        model(first.decoder.config(), device) {
    model.adamw_denominator = first.adamw_denominator;
    model.shard_plan = first.shard_plan;
    model.pipeline_plan = first.pipeline_plan;
    if (model.pipeline_plan) model.pipeline_plan->rank = index;
    model.reduce = first.reduce;
    model.tensor_plan = first.tensor_plan;
    if (model.shard_plan) model.shard_plan->rank = index;
    if (model.tensor_plan) model.tensor_plan->rank = index;
    model.context_plan = first.context_plan;
    if (model.context_plan) model.context_plan->rank = index;
    if (first.shared != nullptr)
      model.shared = std::make_unique<LentCommunicator>(device, index, ranks);
  }
  Device device;
  TrainedModel model;
};

DataRanks::DataRanks(TrainedModel& first, const MeshSettings& mesh,
                     const std::function<void(TrainedModel&)>& prepare)
    : first_(first),
      mesh_(mesh),
      processes_(mesh.ranks() > 1 ? processes_of_job() : nullptr),
      reports_(static_cast<std::size_t>(mesh.ranks())),
      news_(reports_.size()) {
  for (int r = 1; r < mesh.ranks(); ++r) {
    others_.push_back(std::make_unique<Rank>(first, r, static_cast<int>(mesh.ranks())));
    prepare(others_.back()->model);
  }
  if (first.shared != nullptr || first.sharded != nullptr || first.tensor != nullptr ||
      first.pipeline != nullptr)
    shared_state_ = std::make_unique<SharedState>(models());
}
DataRanks::~DataRanks() = default;

std::int64_t DataRanks::size() const { return std::ssize(others_) + 1; }

bool DataRanks::leads() const { return processes_ == nullptr || processes_->leads(); }

bool DataRanks::is_here(std::size_t rank) const {
  return processes_ == nullptr ||
         RemoteRanks{*processes_, static_cast<int>(size())}.is_here(static_cast<int>(rank));
}

std::string DataRanks::agree(const std::string& checkpoint) const {
  if (processes_ == nullptr) return checkpoint;
  if (!leads()) return processes_->hear(JobNews::kResume);
  processes_->tell(JobNews::kResume, checkpoint);
  return checkpoint;
}

void DataRanks::exchange_state() {
  if (processes_ == nullptr || shared_state_ == nullptr) return;
  const RemoteRanks remote{*processes_, static_cast<int>(size())};
  const std::vector<TrainedModel*> all = models();
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    const int number = static_cast<int>(rank);
    if (leads() && !is_here(rank))
      unpack_state(remote.receive(number, WorldOptions().host_timeout).text(), *all[rank]);
    else if (!leads() && is_here(rank)) {
      MessageWriter message = remote.message();
      pack_state(*all[rank], message);
      remote.send(number, message);
    }
  }
}

std::vector<TrainedModel*> DataRanks::models() const {
  std::vector<TrainedModel*> all = {&first_};
  for (const auto& rank : others_) all.push_back(&rank->model);
  return all;
}

void DataRanks::share() {
  if (first_.tensor != nullptr) {
    for (TrainedModel* model : models()) model->tensor->take(first_.decoder);
    return shared_state_->scatter();
  }
  if (first_.sharded != nullptr) {
    for (TrainedModel* model : models()) model->sharded->take(first_.decoder);
    return shared_state_->scatter();
  }
  const auto copy = [](Tensor& from, Tensor& to) {
    if (!to.empty()) std::ranges::copy(std::as_const(from).host(), to.host().begin());
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
  Json first = device.state();
  if (processes_ != nullptr && leads()) processes_->tell(JobNews::kBegin, first.dump());
  if (!leads()) first = Json::parse(processes_->hear(JobNews::kBegin));
  for (const auto& rank : others_) {
    if (!is_here(static_cast<std::size_t>(&rank - others_.data()) + 1)) continue;
    // Of ranks that hold other tensors the clock alone is the same.
    Json state = shared_state_ == nullptr ? first : rank->device.state();
    if (shared_state_ != nullptr) state["clock"] = first.at("clock");
    const Result<void> restored = rank->device.restore(state);
    NB_CHECK(restored.has_value(), "[data_ranks] {}", restored.error().message);
    rank->model.decoder.adapters().begin_step(step);
  }
}

void DataRanks::run(const std::function<void(TrainedModel&, Communicator&)>& body) {
  const std::vector<TrainedModel*> all = models();
  std::vector<Device*> devices;
  for (TrainedModel* model : all) devices.push_back(&model->decoder.device());
  std::list<UseScope> uses;  // of all as the first one's
  for (Device* device : devices) uses.emplace_back(*device, devices.front()->use());
  std::vector<SentBytes> sent(all.size());
  WorldOptions options;
  std::optional<RemoteRanks> remote;
  if (processes_ != nullptr) {
    remote.emplace(RemoteRanks{*processes_, static_cast<int>(all.size())});
    const auto at = [](int rank) { return static_cast<std::size_t>(rank); };
    remote->news = [this, at](int rank) { return std::exchange(news_[at(rank)], {}); };
    remote->hear = [this, at](int rank, std::string_view news) { hear_(at(rank), news); };
    remote->pack = [&, at](int rank, MessageWriter& to) {
      const Device& own = *devices[at(rank)];
      pack_rank(*all[at(rank)],
                {sent[at(rank)], own.memory().peak_allocated_bytes,
                 shared_state_ == nullptr ? "" : own.state().dump()},
                to);
    };
    remote->unpack = [&, at](int rank, std::string_view packed) {
      reports_[at(rank)] = unpack_rank(packed, *all[at(rank)]);
      sent[at(rank)] = reports_[at(rank)].sent;
    };
    options.remote = &*remote;
  }
  if (first_.disturbance != nullptr) {
    options.sim_timeout_ns = first_.disturbance->limit_ns(step_);
    options.link_slowdown = first_.disturbance->link_slowdown(step_);
  }
  const Result<void> done = World(devices, options).run([&](Communicator& world) {
    TrainedModel& model = *all[static_cast<std::size_t>(world.rank())];
    begin_on_rank(model, world);
    body(model, world);
    end_on_rank(model);
    sent[static_cast<std::size_t>(world.rank())] = world.sent_bytes();
  });
  if (!done) throw std::runtime_error(done.error().message);
  if (!leads()) return;
  for (const auto& [kind, bytes] : sent.front()) sent_[kind] += bytes;
  if (first_.tensor != nullptr)
    for (TrainedModel* model : all)
      if (model->tensor->plan().copy() == 0) model->tensor->give(first_.decoder);
  if (first_.sharded != nullptr)
    for (TrainedModel* model : all)
      if (model->sharded->plan().copy() == 0) model->sharded->give(first_.decoder);
  if (first_.pipeline == nullptr) return;
  if (!facts_) facts_ = PipelineFacts{std::vector<double>(all.size()), 0};
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    double bytes_sent = 0;
    for (const auto& [kind, bytes] : sent[rank]) bytes_sent += bytes;
    facts_->sent_bytes[rank] += bytes_sent;
  }
  for (TrainedModel* model : all)
    if (model->pipeline->plan().copy() == 0 && model != &first_)
      for (std::size_t i = 0; i < first_.decoder.parameters().size(); ++i) {
        const Tensor& own = model->decoder.parameters()[i].value;
        if (!own.empty())
          std::ranges::copy(own.host(), first_.decoder.parameters()[i].value.host().begin());
      }
}

std::vector<std::uint64_t> DataRanks::peaks_of_stages() const {
  std::vector<std::uint64_t> peaks;
  if (first_.pipeline == nullptr) return peaks;
  for (const TrainedModel* model : models()) {
    const RankReport& report = reports_[peaks.size()];
    peaks.push_back(report.device.empty() ? model->decoder.device().memory().peak_allocated_bytes
                                          : report.peak_bytes);
  }
  return peaks;
}

Json DataRanks::devices() const {
  if (shared_state_ == nullptr) return nullptr;
  Json all = Json::array();
  for (const auto& rank : others_) {
    const RankReport& report = reports_[all.size() + 1];
    all.push_back(report.device.empty() ? rank->device.state() : Json::parse(report.device));
  }
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
  if (first_.shared == nullptr) return "";
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
  const std::int64_t sharing = mesh_.data_ranks(), each = plan.accumulation_steps / sharing;
  NB_CHECK(each * sharing == plan.accumulation_steps, "[data_ranks] {} micro-batches on {} ranks",
           plan.accumulation_steps, sharing);
  begin(point.step);
  step_ = point.step;
  loss_scale_ = plan.loss_scale;
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
  // Of each micro-batch, or of its parts, whose mean is the micro-batch's.
  const auto parts = static_cast<std::size_t>(mesh_.context_ranks());
  std::vector<double> losses(batches.size() * parts), norms(static_cast<std::size_t>(size()));
  std::vector<std::string> not_finite(norms.size());
  const auto mean_loss = [&] {
    double sum = 0;
    for (const double one : losses) sum += one;
    return sum / static_cast<double>(losses.size());
  };
  const bool goes_on_with_nan =
      first_.disturbance != nullptr && first_.disturbance->goes_on_with_nan(point.step);
  // The loss of a micro-batch is asked by the first rank, before the others have ended.
  const auto tell = [&](std::size_t rank, std::size_t micro, double loss) {
    losses[micro] = loss;
    if (leads()) return;
    MessageWriter news;
    news.put(static_cast<std::uint64_t>(micro)).put(loss).put_text(not_finite[rank]);
    news_[rank] += news.bytes();
  };
  hear_ = [&](std::size_t rank, std::string_view news) {
    for (MessageReader message(news); !message.is_at_end();) {
      const auto micro = message.get<std::uint64_t>();
      losses.at(micro) = message.get<double>();
      not_finite[rank] = message.get_text();
    }
  };
  run([&](TrainedModel& model, Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    const auto disturb = [&](StepPart part) {
      if (first_.disturbance != nullptr)
        first_.disturbance->in_step(part, point.step, model, world);
    };
    const double share = loss_scale_ / static_cast<double>(each);
    const auto round_sum = [&] {
      if (plan.gradient_sum) round_gradients(model, *plan.gradient_sum);
    };
    if (model.pipeline != nullptr) {
      const auto stride = static_cast<std::size_t>(sharing);
      const auto copy = static_cast<std::size_t>(model.pipeline->plan().copy());
      PipelineRank::Passes passes;
      passes.share = share;
      for (std::size_t micro = copy; micro < batches.size(); micro += stride)
        passes.batches.push_back(&batches[micro]);
      const bool tells = model.pipeline->plan().part() == 0;  // the other parts have the same
      passes.on_loss = [&, tells](std::size_t i, double loss) {
        if (tells) tell(rank, copy + i * stride, loss);
      };
      passes.behind_backward = round_sum;
      disturb(StepPart::kForward);
      model.pipeline->run(passes);
      disturb(StepPart::kBackward);
      norms[rank] = update(model, world, plan.grad_clip, point, mean_loss);
      disturb(StepPart::kOptimizer);
      model.pipeline->tell_loss(mean_loss());
      ops::read_scalar(world.device(), "train_loss");
      return world.device().synchronize();
    }
    disturb(StepPart::kForward);
    const auto together = static_cast<std::size_t>(mesh_.tensor_ranks()) * parts;
    for (std::size_t micro = rank / together; micro < batches.size();
         micro += static_cast<std::size_t>(sharing)) {
      const Batch& batch = batches[micro];
      const auto number = static_cast<std::int64_t>(micro);
      model.decoder.adapters().begin_pass(number);
      const double loss = pass(model, batch, number, share);
      if (!goes_on_with_nan) note_on_rank(not_finite[rank], loss, model, batch);
      if (parts > 1 || rank % together == 0)  // of tp that of the others, too
        tell(rank, micro * parts + rank % parts, loss);
      round_sum();
    }
    disturb(StepPart::kBackward);
    norms[rank] = update(model, world, plan.grad_clip, point, mean_loss);
    disturb(StepPart::kOptimizer);
    ops::read_scalar(world.device(), "train_loss");
    world.device().synchronize();
  });
  outcome.loss = mean_loss();
  outcome.grad_norm = norms.front();
  for (const std::string& where : not_finite)
    if (outcome.not_finite.empty()) outcome.not_finite = where;
  if (first_.pipeline != nullptr && leads()) {
    std::vector<PipelineRank*> stages;
    for (TrainedModel* model : models()) stages.push_back(model->pipeline.get());
    facts_->bubble += bubble_of(stages, start_ns);
  }
  const bool has_parts =
      first_.sharded != nullptr || first_.tensor != nullptr || first_.pipeline != nullptr;
  if (has_parts && !goes_on_with_nan)
    for (std::size_t micro = 0; micro < batches.size(); ++micro)
      note_not_finite(outcome.not_finite, losses[micro], first_.decoder, batches[micro]);
  if (first_.disturbance != nullptr) {
    // A rank that is slower than the first ends the step for all.
    std::int64_t latest_ns = device.time_ns();
    for (const auto& rank : others_) latest_ns = std::max(latest_ns, rank->device.time_ns());
    constexpr std::int64_t kTogetherNs = 1'000'000;  // ranks that do the same differ by less
    if (latest_ns - device.time_ns() > kTogetherNs) device.host_work(latest_ns - device.time_ns());
  }
  outcome.time_ns = device.time_ns() - start_ns;
  outcome.account = device.account() - account_before;
  if (processes_ != nullptr) share_outcome(*processes_, outcome);
  return outcome;
}

std::vector<std::string> DataRanks::differing() const {
  std::vector<std::string> names;
  const std::vector<TrainedModel*> all = models();
  if (first_.tensor != nullptr) {
    const auto add = [&](std::vector<std::string> more) {
      for (std::string& name : more)
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    };
    const auto parts = static_cast<std::size_t>(first_.tensor_plan->parts),
               of_stage = parts * static_cast<std::size_t>(first_.tensor_plan->copies);
    for (std::size_t r = 1; r < all.size(); ++r) {
      const std::size_t first_of_stage = r / of_stage * of_stage;  // what stages share is in both
      for (const std::size_t other : {first_of_stage, first_of_stage + r % parts, r % parts})
        if (other != r) add(all[r]->tensor->differing(*all[other]->tensor));
    }
    return names;
  }
  if (first_.sharded != nullptr) {
    const auto pieces = static_cast<std::size_t>(first_.shard_plan->pieces);
    for (std::size_t r = pieces; r < all.size(); ++r)
      for (std::string& name : all[r]->sharded->differing(*all[r % pieces]->sharded))
        if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    return names;
  }
  const std::vector<Parameter*> mine = weights_of(first_.decoder);
  for (std::size_t i = 0; i < mine.size(); ++i) {
    const auto bits = [&](Decoder& decoder) {
      return std::as_bytes(std::as_const(weights_of(decoder)[i]->value).host());
    };
    const auto is_same = [&](const auto& rank) {
      return weights_of(rank->model.decoder)[i]->value.empty() ||
             std::ranges::equal(bits(first_.decoder), bits(rank->model.decoder));
    };
    if (!std::ranges::all_of(others_, is_same)) names.push_back(mine[i]->name);
  }
  return names;
}

}  // namespace nb
