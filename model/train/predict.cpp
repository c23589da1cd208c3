#include "model/train/predict.hpp"

#include <fmt/core.h>

#include "harness/base/check.hpp"
#include "model/collectives/cost.hpp"
#include "model/device/profile.hpp"
#include "model/gpt/config.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/mfu.hpp"
#include "model/train/settings.hpp"

namespace nb {

FieldList PredictSettings::fields() {
  return {{"depth", "blocks; width is 64 × depth", &depth, {.min = 1, .max = 128}},
          {"vocab_size", "entries of the tokenizer", &vocab_size, {.min = 1}},
          {"sequence_len", "tokens in a row", &sequence_len, {.unit = "token", .min = 2}},
          {"cards", "devices that share each optimizer step", &cards, {.min = 1}},
          {"device_batch_size", "rows a card holds at once", &device_batch_size, {.min = 1}},
          {"total_batch_tokens",
           "tokens of one optimizer step over all cards",
           &total_batch_tokens,
           {.unit = "token", .min = 1}}};
}

Result<Prediction> predict(const PredictSettings& settings, const DeviceProfile& profile) {
  TrainSettings train;
  train.sequence_len = settings.sequence_len;
  train.device_batch_size = settings.device_batch_size;
  train.total_batch_tokens = settings.total_batch_tokens;
  NB_TRY(const BatchPlan plan, plan_batch(train, settings.cards));
  NB_TRY_VOID(check_ranks(profile, static_cast<int>(settings.cards)), profile.name());
  const GptConfig config =
      config_for_depth(settings.depth, settings.vocab_size, settings.sequence_len);
  NB_TRY_VOID(check_config(config, fmt::format("depth {}", settings.depth)));
  if (settings.vocab_size % settings.cards != 0) {
    return bad_input(fmt::format(
        "vocab_size {} is not divisible by {} cards, which share the embedding's optimizer by rows",
        settings.vocab_size, settings.cards));
  }
  Prediction prediction;
  prediction.accumulation_steps = plan.accumulation_steps;
  prediction.param_count = param_count(config);
  prediction.flops_per_token = flops_per_token(config);
  const DryStepRequest request = {.config = config,
                                  .cards = settings.cards,
                                  .device_batch_size = settings.device_batch_size,
                                  .accumulation_steps = plan.accumulation_steps};
  try {
    const DryStep step = run_dry_step(request, profile);
    prediction.fits = true;
    prediction.step_time_ns = static_cast<double>(step.step_time_ns);
    prediction.communication_time_ns = static_cast<double>(step.communication_time_ns);
    prediction.throughput_tok_s =
        1e9 * static_cast<double>(settings.total_batch_tokens) / prediction.step_time_ns;
    prediction.mfu = model_flop_utilization(prediction.flops_per_token, prediction.throughput_tok_s,
                                            settings.cards, profile);
    prediction.peak_allocated_bytes = step.peak_allocated_bytes;
    prediction.peak_reserved_bytes = step.peak_reserved_bytes;
    prediction.largest_device_batch_size = settings.device_batch_size;
  } catch (const OutOfMemory& failure) {
    prediction.out_of_memory = failure.what();
    prediction.largest_device_batch_size = largest_fitting_batch(request, profile);
  }
  const std::int64_t row_tokens = settings.cards * settings.sequence_len;
  std::int64_t& dividing = prediction.largest_dividing_batch_size;
  dividing = prediction.largest_device_batch_size;
  while (dividing > 0 && settings.total_batch_tokens % (dividing * row_tokens) != 0) --dividing;
  return prediction;
}

}  // namespace nb
