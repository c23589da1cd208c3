#include "harness/microbench/whole_step.hpp"

#include <fmt/format.h>

#include "harness/base/rng.hpp"
#include "model/decoder/presets.hpp"
#include "model/kernels/reduce.hpp"
#include "model/ops/objectives.hpp"
#include "model/optim/groups.hpp"
#include "model/train/step.hpp"

namespace nb {

FieldList WholeStepSettings::fields() {
  return {
      {"depth", "layers; width is 64 × depth", &depth, {.min = 1, .max = 64}},
      {"layers", "of the width of that depth; 0: depth", &layers, {.min = 0, .max = 64}},
      {"vocabulary", "tokens known to the model", &vocabulary, {.min = 2, .max = 1 << 20}},
      {"length", "T of a sequence", &length, {.unit = "tok", .min = 1, .max = 1 << 16}},
      {"rows", "B, sequences of a micro-batch", &rows, {.min = 1, .max = 4096}},
      {"tokens", "of an optimizer step", &tokens, {.unit = "tok", .min = 1}},
      {"is_forward", "score the tokens instead of training on them", &is_forward},
      {"stage", "whose training step", &stage, {.one_of = {"base", "sft", "rl"}}},
  };
}

DecoderConfig WholeStepSettings::config() const {
  DecoderConfig result = config_for_depth(depth, vocabulary, length);
  if (layers > 0) result.n_layer = layers;
  return result;
}

double WholeStepSettings::flop() const {
  const auto per_token = static_cast<double>(flops_per_token(config()));
  return static_cast<double>(tokens) * per_token / (is_forward ? 3 : 1);
}

Result<void> check_settings(const WholeStepSettings& settings, const std::string& where) {
  if (settings.tokens % (settings.rows * settings.length) != 0) {
    return bad_input(fmt::format("{}: {} tokens are not a multiple of a micro-batch of {} × {}",
                                 where, settings.tokens, settings.rows, settings.length));
  }
  return check_config(settings.config(), where);
}

Batch random_batch(const WholeStepSettings& settings) {
  Batch batch{.rows = settings.rows, .length = settings.length, .inputs = {}, .targets = {}};
  const Rng rng(1, "microbench tokens");
  const auto count = static_cast<std::uint64_t>(settings.rows * settings.length);
  const auto vocabulary = static_cast<std::uint64_t>(settings.vocabulary);
  for (std::uint64_t i = 0; i < count; ++i) {
    batch.inputs.push_back(static_cast<int>(rng.below(2 * i, vocabulary)));
    batch.targets.push_back(static_cast<int>(rng.below(2 * i + 1, vocabulary)));
  }
  return batch;
}

WholeStep::WholeStep(const DeviceProfile& profile, const WholeStepSettings& settings)
    : settings_(settings),
      device_(profile, ExecutionMode::kExecute, {.trace_steps = 0}),
      decoder_(settings.config(), device_) {
  decoder_.init(1);
  if (!settings.is_forward) optimizers_ = make_optimizers(decoder_, {});
  batch_ = random_batch(settings);
  log_probs_.resize(batch_.inputs.size());
  argmax_.resize(batch_.inputs.size());
}

double WholeStep::run() {
  if (settings_.is_forward) return score();
  if (settings_.stage == "base") return train();
  const UseScope scope(device_, Use::kTune);
  return settings_.stage == "sft" ? train() : train_on_policy();
}

double WholeStep::train() {
  StepPlan plan{.accumulation_steps = micro_batches(), .grad_clip = 1};
  if (settings_.stage == "sft") plan.grad_clip = {};
  return run_step(decoder_, optimizers_, plan, {.step = steps_++}, [&] { return batch_; }).loss;
}

// RL's part that trains, with an advantage of one for every token: the mean loss.
double WholeStep::train_on_policy() {
  const std::vector<float> weights(batch_.targets.size(), 1 / static_cast<float>(settings_.tokens));
  double loss = 0;
  for (std::int64_t i = 0; i < micro_batches(); ++i)
    loss += static_cast<double>(decoder_.objective_and_backward(
        batch_.inputs, batch_.targets, batch_.rows, batch_.length,
        [&](const Tensor& losses) { return ops::weighted_sum(losses, weights); }));
  apply_gradients(decoder_, optimizers_, std::nullopt, {.step = steps_++});
  return loss;
}

double WholeStep::score() {
  double sum = 0;
  for (std::int64_t i = 0; i < micro_batches(); ++i) {
    decoder_.score_tokens(batch_.inputs, batch_.targets, settings_.rows, settings_.length,
                          log_probs_, argmax_);
    sum -= kernels::sum_in_order(log_probs_);
  }
  return sum / static_cast<double>(settings_.tokens);
}

}  // namespace nb
