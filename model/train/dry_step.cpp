#include "model/train/dry_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/ops/objectives.hpp"
#include "model/ops/transfer.hpp"
#include "model/optim/groups.hpp"
#include "model/tokenizer/byte_tokenizer.hpp"
#include "model/train/loss_scaler.hpp"
#include "model/train/step.hpp"

namespace nb {
namespace {

bool is_uncompiled(TrainingStage stage) {
  return stage == TrainingStage::kSft || stage == TrainingStage::kRl;
}

// One card with its model, as the stage has it.
class DryCard {
 public:
  DryCard(const DryStepRequest& request, const DeviceProfile& profile, bool traces = false)
      : request_(request),
        device_(profile, ExecutionMode::kDry,
                {.ranks = static_cast<int>(request.cards), .trace_steps = traces ? 1 : 0}),
        decoder_(request.config, device_),
        tokenizer_(byte_tokenizer()) {
    decoder_.init(0);
    decoder_.set_recompute(request.recompute);
    communicator_ = symmetric_communicator(device_, static_cast<int>(request.cards),
                                           static_cast<int>(request.nodes), request.between_nodes);
    optimizers_ = make_optimizers(decoder_, {}, communicator_.get());
  }

  DryStep step(std::int64_t accumulation_steps, const std::optional<DryRollout>& rollout) {
    DryStep step;
    const std::int64_t links_before = device_.counters().collective_wait_ns;
    if (rollout) {
      const StepOutcome answers = measured([&] { generate(*rollout); });
      step.generate_time_ns = answers.time_ns;
      step.account = step.account + answers.account;
    }
    const StepOutcome trained = train(accumulation_steps);
    step.step_time_ns = step.generate_time_ns + trained.time_ns;
    step.account = step.account + trained.account;
    step.communication_time_ns = device_.counters().collective_wait_ns - links_before;
    return step;
  }

  Device& device() { return device_; }

 private:
  StepOutcome measured(const std::function<void()>& work) {
    StepOutcome outcome;
    device_.synchronize();
    const std::int64_t start_ns = device_.time_ns();
    const TimeAccount before = device_.account();
    work();
    device_.synchronize();
    outcome.time_ns = device_.time_ns() - start_ns;
    outcome.account = device_.account() - before;
    return outcome;
  }

  void generate(const DryRollout& rollout) {
    const std::int64_t limit = rollout.limit();
    std::vector<GenerateRequest> requests;
    for (std::int64_t r = 0; r < rollout.requests; ++r) {
      GenerateRequest& request = requests.emplace_back();
      request.prompt.assign(static_cast<std::size_t>(rollout.prompt_tokens), 0);
      request.num_samples = static_cast<int>(rollout.samples);
      request.max_tokens = limit;
      for (std::int64_t s = 0; s < rollout.samples; ++s)
        request.sample_tokens.push_back(
            std::min(limit, rollout.answer_of(r * rollout.samples + s) + 1));
    }
    DecoderLanguageModel(decoder_, tokenizer_, {.max_rows = rollout.samples}).generate(requests);
  }

  StepOutcome train(std::int64_t accumulation_steps) {
    const UseScope scope(device_, is_uncompiled(request_.stage) ? Use::kTune : Use::kTrain);
    const Batch no_data = {request_.device_batch_size,
                           request_.row_tokens.value_or(request_.config.sequence_len),
                           {},
                           {}};
    const StepPlan plan = {
        .accumulation_steps = accumulation_steps,
        .grad_clip = request_.grad_clip,
        .counts_equal_micro_batches = !request_.simulates_all && !device_.trace().recording(),
        .loss_scale = loss_scale_of(device_)};
    if (request_.stage != TrainingStage::kRl)
      return run_step(decoder_, optimizers_, plan, {}, [&] { return no_data; });
    return measured([&] {
      for (std::int64_t pass = 0; pass < accumulation_steps; ++pass)
        decoder_.objective_and_backward(
            {}, {}, no_data.rows,
            request_.rollout ? request_.rollout->row_tokens_of(pass) : no_data.length,
            [](const Tensor& losses) { return ops::weighted_sum(losses, {}); });
      apply_gradients(decoder_, optimizers_, plan.grad_clip, {});
      ops::read_scalar(device_, "train_loss");
    });
  }

  const DryStepRequest& request_;
  Device device_;
  Decoder decoder_;
  Tokenizer
      tokenizer_;  // of which the engine asks what ends an answer: nothing does on a dry device
  std::unique_ptr<Communicator> communicator_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
};

PeakMemory peaks_of(const Device& device) {
  const MemoryStats memory = device.memory();
  return {memory.peak_allocated_bytes, memory.peak_reserved_bytes};
}

// Two short steps, after which state exists and the allocator's cache is warm; returns the peaks of
// the first. A second micro-batch is enough to show the memory of all later ones: gradients are
// there while activations grow. One request, too: the next one has the memory of the one before.
// But where answers differ in length, all of them.
PeakMemory warm_up(DryCard& card, const DryStepRequest& request) {
  std::optional<DryRollout> rollout = request.rollout;
  const bool is_ragged = rollout && rollout->answer_tokens.size() > 1;
  if (rollout && !is_ragged) rollout->requests = 1;
  const std::int64_t micro_batches = is_ragged
                                         ? request.accumulation_steps
                                         : std::min<std::int64_t>(request.accumulation_steps, 2);
  card.step(micro_batches, rollout);
  const PeakMemory first = peaks_of(card.device());
  card.step(micro_batches, rollout);
  return first;
}

}  // namespace

std::int64_t DryRollout::limit() const { return std::ranges::max(answer_tokens); }

std::int64_t DryRollout::answer_of(std::int64_t sample) const {
  return answer_tokens[static_cast<std::size_t>(sample) % answer_tokens.size()];
}

std::int64_t DryRollout::row_tokens_of(std::int64_t request) const {
  std::int64_t longest = 0;
  for (std::int64_t s = 0; s < samples; ++s)
    longest = std::max(longest, answer_of(request * samples + s));
  return prompt_tokens + longest - 1;  // the last token is a target only
}

std::int64_t DryRollout::row_tokens() const {
  std::int64_t sum = 0;
  for (std::int64_t r = 0; r < requests; ++r) sum += row_tokens_of(r);
  return sum;
}

DryStep run_dry_step(const DryStepRequest& request, const DeviceProfile& profile) {
  DryCard card(request, profile);
  Device& device = card.device();
  const PeakMemory first = warm_up(card, request);
  const PeakMemory before = peaks_of(device);
  device.reset_memory_peaks();
  DryStep step = card.step(request.accumulation_steps, request.rollout);
  step.first = first;
  step.steady = peaks_of(device);
  step.peak_by_use = device.allocator().peak_by_use();
  step.peak_allocated_bytes = std::max(before.allocated_bytes, step.steady.allocated_bytes);
  step.peak_reserved_bytes = std::max(before.reserved_bytes, step.steady.reserved_bytes);
  return step;
}

Json trace_dry_step(const DryStepRequest& request, const DeviceProfile& profile) {
  DryCard card(request, profile, true);
  warm_up(card, request);
  card.device().trace().begin_step();
  card.step(request.accumulation_steps, request.rollout);
  card.device().trace().end();
  return card.device().trace().chrome_json(profile.name());
}

Result<MemoryOverStep> memory_over_step(const DryStepRequest& request,
                                        const DeviceProfile& profile) {
  DryCard card(request, profile, true);
  warm_up(card, request);
  Trace& trace = card.device().trace();
  trace.begin_step();
  card.step(request.accumulation_steps, request.rollout);
  trace.end();
  if (trace.dropped() > 0)
    return bad_input(fmt::format(
        "the step launches {} kernels, more than can be drawn; take fewer micro-batches",
        trace.events().size() + trace.dropped()));
  MemoryOverStep memory;
  memory.capacity_bytes =
      card.device().memory().capacity_bytes - card.device().memory().reserve_bytes;
  for (const TraceEvent& event : trace.events()) {
    memory.time_ns.push_back(event.dispatch_start_ns - trace.events().front().dispatch_start_ns);
    memory.by_use.push_back(event.by_use);
  }
  return memory;
}

bool step_fits(const DryStepRequest& request, const DeviceProfile& profile) {
  try {
    DryCard card(request, profile);
    warm_up(card, request);
    return true;
  } catch (const OutOfMemory&) {
    return false;
  }
}

std::int64_t largest_fitting_batch(DryStepRequest request, const DeviceProfile& profile) {
  std::int64_t good = 0;
  std::int64_t bad = request.device_batch_size + 1;
  while (bad - good > 1) {  // memory grows with the batch
    request.device_batch_size = good + (bad - good) / 2;
    (step_fits(request, profile) ? good : bad) = request.device_batch_size;
  }
  return good;
}

}  // namespace nb
