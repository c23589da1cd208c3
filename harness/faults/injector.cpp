#include "harness/faults/injector.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "model/collectives/communicator.hpp"
#include "model/train/stage_task.hpp"

namespace nb {
namespace {

constexpr std::int64_t kForever = std::numeric_limits<std::int64_t>::max() / 4;
// Ranks that do the same differ by less on the simulated clock.
constexpr std::int64_t kTogetherNs = 1'000'000;

StepPart part_of(FaultPhase phase) { return static_cast<StepPart>(phase); }

void flip(const RankFault& fault, TrainedModel& model) {
  for (Parameter& parameter : model.decoder.parameters())
    if (parameter.name == fault.tensor) {
      float& value = parameter.value.host().front();
      value = std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^
                                   (std::uint32_t{1} << static_cast<unsigned>(*fault.bit)));
    }
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
    made->planted_.push_back({std::move(fault), State::kWaiting, {}, 0, 0});
  }
  return made;
}

FaultOutcome Injector::outcome(const Planted& planted) const {
  return outcome_of(planted.fault, limits_, launcher_, ranks_, planted.site);
}

void Injector::happened(Planted& planted, std::int64_t step, TrainedModel& model) {
  const std::vector<Parameter*> trained = model.decoder.trained_parameters();
  const Parameter& first = *trained.front();
  const std::lock_guard lock(mutex_);
  planted.state = State::kHappened;
  planted.time_ns = model.decoder.device().collective_ready_ns();
  planted.site = {step,
                  model.shared != nullptr ? "reduce_scatter" : "all_reduce",
                  step * std::ssize(trained) + 1,
                  first.name,
                  first.value.count(),
                  std::string(nb::name(first.value.dtype())),
                  ""};
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
      if (world.rank() == 0) happened(planted, step, model);
    }
    return;
  }
  if (fault.kind == FaultKind::kSlow) return slow_down(planted, part, step, model, world);
  if (fault.kind == FaultKind::kLink && fault.state == LinkState::kSlow) {
    if (is_its_step && world.rank() == 0 && part == StepPart::kForward)
      happened(planted, step, model);
    return;
  }
  if (fault.kind == FaultKind::kFlip) {
    // Before the passes: its own gradient is wrong, and with the average everybody's.
    if (is_its_step && fault.first_rank() == world.rank() && part == StepPart::kForward) {
      happened(planted, step, model);
      flip(fault, model);
    }
    return;
  }
  if (fault.kind == FaultKind::kNan) {
    const bool is_weight = fault.where == NanIn::kParameter;
    const StepPart there = is_weight ? StepPart::kForward : StepPart::kBackward;
    if (is_its_step && fault.first_rank() == world.rank() && part == there) {
      happened(planted, step, model);
      Parameter& one = *model.decoder.trained_parameters().front();
      (is_weight ? one.value : one.grad).host().front() = std::numeric_limits<float>::quiet_NaN();
    }
    return;
  }
  if (!is_its_step || fault.first_rank() != world.rank() || part != part_of(fault.phase)) return;
  switch (fault.kind) {
    case FaultKind::kKill:
      happened(planted, step, model);
      throw std::runtime_error("process killed (injected)");
    case FaultKind::kExit:
      happened(planted, step, model);
      throw std::runtime_error("ended with code 0 (injected)");
    case FaultKind::kException:
      happened(planted, step, model);
      throw std::runtime_error("KeyError: 'text' (injected)");
    case FaultKind::kEcc:
      happened(planted, step, model);
      throw std::runtime_error("double-bit ECC error (injected)");
    case FaultKind::kOom: {
      happened(planted, step, model);
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
      happened(planted, step, model);
      device.host_work(ns_of(*fault.seconds));
      return;
    case FaultKind::kMismatch:
    case FaultKind::kOrder: {
      happened(planted, step, model);
      std::vector<float> one(1), all(static_cast<std::size_t>(world.size()));
      if (fault.kind == FaultKind::kOrder || fault.what == Mismatched::kOp)
        world.all_gather({one, DType::kFp32}, {all, DType::kFp32}, "injected");
      else
        world.all_reduce({one, DType::kFp32}, Reduce::kSum, "injected");
      return;
    }
    case FaultKind::kLink:
      happened(planted, step, model);
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
    if (planted.state == State::kWaiting) happened(planted, step, model);
    planted.step_began_ns = device.time_ns();
  } else if (part == StepPart::kBackward) {
    const auto took_ns = static_cast<double>(device.time_ns() - planted.step_began_ns);
    device.synchronize();
    device.host_work(std::llround((*planted.fault.factor - 1) * took_ns));
  }
}

bool Injector::goes_on_with_nan() const {
  return std::ranges::any_of(planted_, [](const Planted& planted) {
    return planted.fault.kind == FaultKind::kNan && planted.state == State::kHappened;
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
  for (Planted& planted : planted_) meet(planted, part, step, model, world);
}

void Injector::between_steps(StepPart part, std::int64_t step) {
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
  const bool is_first =
      step == 0 && limits_.is_hccl && std::ranges::any_of(planted_, [](const Planted& planted) {
        return planted.fault.kind == FaultKind::kLate && planted.fault.at == LateAt::kFirst;
      });
  const double limit_s = is_first ? limits_.connect_s : limits_.collective_s();
  return limit_s == 0 ? kForever : ns_of(limit_s) + kTogetherNs;
}

FailureStory Injector::story(const Planted& planted) const {
  return {planted.fault,           limits_, launcher_,       settings_.environment,
          first_.profile().name(), 0,       planted.time_ns, planted.site,
          outcome(planted),        0};
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
  for (const Planted& planted : planted_)
    if (planted.state == State::kHappened && outcome(planted).stops) return story(planted);
  return std::nullopt;
}

bool Injector::has_changed_state() const {
  return std::ranges::any_of(planted_, [&](const Planted& planted) {
    return planted.state == State::kHappened && !outcome(planted).stops;
  });
}

std::vector<std::string> Injector::notes() const {
  std::vector<std::string> notes;
  for (const Planted& planted : planted_) {
    if (planted.state == State::kWaiting)
      notes.push_back(fmt::format("fault {}: not reached", planted.fault.text));
    else if (const FaultOutcome out = outcome(planted); !out.stops)
      notes.push_back(fmt::format("fault {}: {}", planted.fault.text, out.note));
  }
  return notes;
}

}  // namespace nb
