#include "harness/faults/injector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "harness/faults/own_parameters.hpp"
#include "model/collectives/communicator.hpp"
#include "model/optim/row_shards.hpp"
#include "model/train/sharded_weights.hpp"
#include "model/train/stage_task.hpp"

namespace nb {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max() / 4;
// Ranks that do the same differ by less on the simulated clock.
constexpr std::int64_t kTogetherNs = 1'000'000;

StepPart part_of(FaultPhase phase) { return static_cast<StepPart>(phase); }

// Every value of a matrix takes part in every pass; of a table only the rows that are asked for do.
Parameter& first_matrix(TrainedModel& model) {
  const std::vector<Parameter*> own = own_parameters(model);
  const auto found = std::ranges::find(own, ParameterRole::kMatrix, &Parameter::role);
  Parameter* const parameter = found == own.end() ? own.front() : *found;
  return *parameter;
}

void flip(const RankFault& fault, TrainedModel& model) {
  for (Parameter* parameter : own_parameters(model))
    if (parameter->name == fault.tensor) {
      float& value = parameter->value.host().front();
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^
                                   (std::uint32_t{1} << static_cast<unsigned>(*fault.bit)));
    }
}

// Where weights are cut: the gather of what is of no block before a pass, that of the norm's
// squares (three numbers per rank) behind all passes.
FaultSite site_of_shards(StepPart part, std::int64_t step, const ShardedWeights& sharded) {
  const ShardPlan& plan = sharded.plan();
  if (part == StepPart::kBackward)
    return {step, "all_gather", 0, "grad_norm", std::int64_t{3} * plan.ranks(), "fp32", ""};
  FaultSite site{step, "all_gather", 0, "", 0, "", ""};
  for (const ParameterRows& one : sharded.trained()) {
    if (one.rows->name.starts_with("transformer.h.")) continue;
    const auto wire = std::string(nb::name(plan.param.value_or(one.rows->value.dtype())));
    if (site.tensor.empty()) {
      site.tensor = one.rows->name;
      site.dtype = wire;
    }
    if (site.dtype == wire)
      site.count += row_shard(one.whole, 0, plan.pieces).padded_elements() * plan.pieces;
  }
  return site;
}

// Ranks that share a model: activations meet in its passes, the squares of the norm behind them
// (pipeline.cpp has more of these numbers than three per rank).
FaultSite site_of_parts(StepPart part, std::int64_t step, TrainedModel& model) {
  const bool is_pipeline = model.pipeline != nullptr;
  const int ranks = is_pipeline ? model.pipeline->plan().ranks() : model.tensor->plan().ranks();
  if (part != StepPart::kForward)
    return {step, "all_gather", 0, "grad_norm", std::int64_t{3} * ranks, "fp32", ""};
  const Parameter& first = *own_parameters(model).front();
  return {step,
          is_pipeline ? "send_receive" : "all_reduce",
          0,
          first.name,
          first.value.count(),
          std::string(nb::name(model.decoder.device().numerics().storage)),
          ""};
}

FaultSite site_of(StepPart part, std::int64_t step, TrainedModel& model) {
  if (model.sharded != nullptr) return site_of_shards(part, step, *model.sharded);
  if (model.tensor != nullptr || model.pipeline != nullptr) return site_of_parts(part, step, model);
  const std::vector<Parameter*> trained = model.decoder.trained_parameters();
  const Parameter& first = *trained.front();
  return {step,
          model.shared != nullptr ? "reduce_scatter" : "all_reduce",
          step * std::ssize(trained) + 1,
          first.name,
          first.value.count(),
          std::string(nb::name(first.value.dtype())),
          ""};
}

std::int64_t ns_of(double seconds) { return std::llround(seconds * 1e9); }

}  // namespace

Injector::Injector(FaultSettings settings, Limits limits, Device& first, int ranks)
    : settings_(std::move(settings)),
      limits_(std::move(limits)),
      launcher_(settings_.launcher == "torchrun" ? Launcher::kTorchrun : Launcher::kNone),
      first_(first),
      ranks_(ranks) {}

Result<std::unique_ptr<Injector>> Injector::create(const FaultSettings& settings, Device& first,
                                                   int ranks) {
  NB_TRY(Limits limits, read_limits(settings.environment, settings.process_group_timeout_s,
                                    first.profile(), "faults"));
  std::unique_ptr<Injector> made(new Injector(settings, std::move(limits), first, ranks));
  for (const std::string& text : settings.faults) {
    NB_TRY(RankFault fault, parse_rank_fault(text, "faults"));
    if (made->adds_to_another(fault)) continue;
    made->planted_.push_back({std::move(fault), State::kWaiting, {}, 0, 0});
  }
  return made;
}

// A rank that is late twice at one place is late once, by both.
bool Injector::adds_to_another(const RankFault& fault) {
  if (fault.kind != FaultKind::kLate) return false;
  for (Planted& planted : planted_) {
    RankFault& other = planted.fault;
    if (other.kind != FaultKind::kLate || other.at != fault.at || other.rank != fault.rank ||
        other.due_step() != fault.due_step())
      continue;
    *other.seconds += *fault.seconds;
    other.text += " and " + fault.text;
    return true;
  }
  return false;
}

bool Injector::skips_overflows() const {
  return first_.numerics().loss_scaling == LossScaling::kDynamic;
}

FaultOutcome Injector::outcome(const Planted& planted) const {
  FaultOutcome out = outcome_of(planted.fault, limits_, launcher_, ranks_, planted.site);
  if (planted.fault.kind == FaultKind::kNan && skips_overflows())
    out.note = fmt::format(
        "rank {} had a NaN in step {}: all ranks skip that step, and the loss scale is halved",
        planted.fault.first_rank(), *planted.fault.step);
  return out;
}

void Injector::happened(Planted& planted, StepPart part, std::int64_t step, TrainedModel& model) {
  FaultSite site = site_of(part, step, model);
  const std::lock_guard lock(mutex_);
  planted.state = State::kHappened;
  planted.time_ns = model.decoder.device().collective_ready_ns();
  planted.site = std::move(site);
}

StepPart Injector::part_met(const RankFault& fault, const TrainedModel& model) const {
  // Where weights are cut the first collective is before the first pass, or in it.
  const bool is_cut =
      model.sharded != nullptr || model.tensor != nullptr || model.pipeline != nullptr;
  if (is_cut && fault.is_at_first_collective()) return StepPart::kForward;
  return part_of(fault.phase);
}

void Injector::meet(Planted& planted, StepPart part, std::int64_t step, TrainedModel& model,
                    Communicator& world) {
  const RankFault& fault = planted.fault;
  Device& device = world.device();
  const bool is_its_step = fault.due_step() == step;
  if (fault.kind == FaultKind::kLate && fault.at == LateAt::kStart) {
    // All wait for the one that is late, before their first step.
    if (step == 0 && part == StepPart::kForward) {
      device.host_work(ns_of(*fault.seconds));
      if (world.rank() == 0) happened(planted, part, step, model);
    }
    return;
  }
  if (fault.kind == FaultKind::kSlow) return slow_down(planted, part, step, model, world);
  if (fault.kind == FaultKind::kLink && fault.state == LinkState::kSlow) {
    if (is_its_step && world.rank() == 0 && part == StepPart::kForward)
      happened(planted, part, step, model);
    return;
  }
  if (fault.kind == FaultKind::kFlip) {
    // Before the passes: its own gradient is wrong, and with the average everybody's.
    if (is_its_step && fault.first_rank() == world.rank() && part == StepPart::kForward) {
      happened(planted, part, step, model);
      flip(fault, model);
    }
    return;
  }
  if (fault.kind == FaultKind::kNan) {
    const bool is_weight = fault.where == NanIn::kParameter;
    const StepPart there = is_weight ? StepPart::kForward : StepPart::kBackward;
    if (!is_its_step || part != there) return;
    if (fault.first_rank() == world.rank()) happened(planted, part, step, model);
    // Where weights are cut their gradients are averaged by now: all that have its piece have it.
    const int pieces =
        !is_weight && model.sharded != nullptr ? model.sharded->plan().pieces : world.size();
    if (fault.first_rank() % pieces != world.rank() % pieces) return;
    Parameter& one = first_matrix(model);
    (is_weight ? one.value : one.grad).host().front() = std::numeric_limits<float>::quiet_NaN();
    return;
  }
  if (!is_its_step || fault.first_rank() != world.rank() || part != part_met(fault, model)) return;
  switch (fault.kind) {
    case FaultKind::kKill:
      happened(planted, part, step, model);
      throw std::runtime_error("process killed (injected)");
    case FaultKind::kExit:
      happened(planted, part, step, model);
      throw std::runtime_error("ended with code 0 (injected)");
    case FaultKind::kException:
      happened(planted, part, step, model);
      throw std::runtime_error("KeyError: 'text' (injected)");
    case FaultKind::kEcc:
      happened(planted, part, step, model);
      throw std::runtime_error("double-bit ECC error (injected)");
    case FaultKind::kOom: {
      happened(planted, part, step, model);
      try {
        // As much as the card has: its own words say the rest.
        constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
        const auto all = static_cast<std::int64_t>(device.profile().memory.usable.value * kGiB);
        const Tensor more = device.allocate({all / 4}, DType::kFp32, "injected");
      } catch (const OutOfMemory& failure) {
        const std::lock_guard lock(mutex_);
        planted.site.device_text = failure.what();
        throw;
      }
      return;
    }
    case FaultKind::kLate:
      happened(planted, part, step, model);
      device.host_work(ns_of(*fault.seconds));
      return;
    case FaultKind::kMismatch:
    case FaultKind::kOrder: {
      happened(planted, part, step, model);
      std::vector<float> one(1), all(static_cast<std::size_t>(world.size()));
      const bool is_other_op = fault.kind == FaultKind::kOrder || fault.what == Mismatched::kOp;
      if (is_other_op != (model.sharded != nullptr))
        world.all_gather({one, DType::kFp32}, {all, DType::kFp32}, "injected");
      else
        world.all_reduce({one, DType::kFp32}, Reduce::kSum, "injected");
      return;
    }
    case FaultKind::kLink:
      happened(planted, part, step, model);
      throw std::runtime_error(fmt::format("link {}-{} down (injected)", *fault.rank, fault.peer));
    default:
      return;
  }
}

// Its passes take factor times as long; what they had not launched yet does not hide.
void Injector::slow_down(Planted& planted, StepPart part, std::int64_t step, TrainedModel& model,
                         Communicator& world) {
  if (step < planted.fault.from || planted.fault.first_rank() != world.rank()) return;
  Device& device = world.device();
  if (part == StepPart::kForward) {
    if (planted.state == State::kWaiting) happened(planted, part, step, model);
    planted.step_began_ns = device.time_ns();
  } else if (part == StepPart::kBackward) {
    const auto took_ns = static_cast<double>(device.time_ns() - planted.step_began_ns);
    device.synchronize();
    device.host_work(std::llround((*planted.fault.factor - 1) * took_ns));
  }
}

bool Injector::goes_on_with_nan(std::int64_t step) const {
  if (skips_overflows()) return false;
  return std::ranges::any_of(planted_, [step](const Planted& planted) {
    return planted.fault.kind == FaultKind::kNan && planted.fault.due_step() <= step;
  });
}

double Injector::link_slowdown(std::int64_t step) const {
  double slowdown = 1;
  for (const Planted& planted : planted_)
    if (planted.fault.kind == FaultKind::kLink && planted.fault.state == LinkState::kSlow &&
        step >= planted.fault.from)
      slowdown = std::max(slowdown, *planted.fault.factor);
  return slowdown;
}

void Injector::in_step(StepPart part, std::int64_t step, TrainedModel& model, Communicator& world) {
  if (part == StepPart::kForward && world.rank() == 0 && !first_step_) first_step_ = step;
  for (Planted& planted : planted_) meet(planted, part, step, model, world);
  if (digests_ != nullptr) digests_->note(part, step, world.rank(), model);
}

void Injector::between_steps(StepPart part, std::int64_t step) {
  // Before the checkpoint, from which a resumed run goes on.
  if (part == StepPart::kSave)
    if (const auto written = write_digests(step); !written)
      throw std::runtime_error(written.error().message);
  for (Planted& planted : planted_) {
    const RankFault& fault = planted.fault;
    const bool is_between =
        fault.phase == FaultPhase::kEvaluate || fault.phase == FaultPhase::kSave;
    if (!is_between || part_of(fault.phase) != part || fault.due_step() != step) continue;
    planted.state = State::kHappened;
    planted.time_ns = first_.collective_ready_ns();
    planted.site.step = step;
    planted.site.tensor = "first gradient of the step";
    throw std::runtime_error(
        fmt::format("rank {}: {} (injected)", fault.first_rank(), info(fault.kind).name));
  }
}

std::optional<std::int64_t> Injector::limit_ns(std::int64_t step) const {
  // The first collective makes the links.
  const double limit_s = step == 0 && limits_.is_hccl ? limits_.connect_s : limits_.collective_s();
  return limit_s == 0 ? kForever : ns_of(limit_s) + kTogetherNs;
}

FailureStory Injector::story(const Planted& planted) const {
  return {planted.fault,
          limits_,
          launcher_,
          settings_.environment,
          settings_.process_group_timeout_s,
          first_.profile().name(),
          0,
          planted.time_ns,
          planted.site,
          outcome(planted),
          0};
}

std::optional<FailureStory> Injector::failed_at_start() {
  for (Planted& planted : planted_) {
    if (planted.fault.due_step().has_value() || !outcome(planted).stops) continue;
    planted.state = State::kEnded;
    planted.site.op = planted.fault.kind == FaultKind::kPort ? "init_process_group" : "negotiation";
    planted.site.tensor = "before the first step";
    return story(planted);
  }
  return std::nullopt;
}

std::optional<FailureStory> Injector::failure() const {
  const std::lock_guard lock(mutex_);
  const Planted* first = nullptr;
  // A rank that is late is missed when the limit is over.
  const auto order = [&](const Planted& planted) {
    const bool is_late = planted.fault.kind == FaultKind::kLate;
    const std::int64_t limit = is_late ? limit_ns(planted.site.step).value_or(0) : 0;
    return std::pair(planted.time_ns + limit, planted.fault.first_rank());
  };
  for (const Planted& planted : planted_)
    if (planted.state == State::kHappened && outcome(planted).stops &&
        (first == nullptr || order(planted) < order(*first)))
      first = &planted;
  if (first == nullptr) return std::nullopt;
  return story(*first);
}

Result<void> Injector::write_digests(std::int64_t end) {
  return digests_ != nullptr ? digests_->write(end) : Result<void>();
}

// In this run or, where it was resumed, before it.
bool Injector::is_reached(const Planted& planted) const {
  return planted.state != State::kWaiting ||
         (first_step_ && planted.fault.due_step().value_or(0) < *first_step_);
}

bool Injector::has_changed_state() const {
  return std::ranges::any_of(planted_, [&](const Planted& planted) {
    return is_reached(planted) && !outcome(planted).stops;
  });
}

std::vector<std::string> Injector::notes(bool trained) const {
  std::vector<std::string> notes;
  for (const Planted& planted : planted_) {
    if (!is_reached(planted))
      notes.push_back(fmt::format("fault {}: not reached", planted.fault.text));
    else if (const FaultOutcome out = outcome(planted); !out.stops)
      notes.push_back(fmt::format("fault {}: {}", planted.fault.text, out.note));
    else if (trained)
      notes.push_back(fmt::format("fault {}: ended nothing: the other ranks were late as well",
                                  planted.fault.text));
  }
  return notes;
}

}  // namespace nb
