#include "model/train/base_stage.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "model/data/loader.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/device.hpp"
#include "model/optim/groups.hpp"
#include "model/optim/schedules.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/train/adamw_choice.hpp"
#include "model/train/context_rank.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/identity.hpp"
#include "model/train/loss_scaler.hpp"
#include "model/train/training_defects.hpp"
#include "model/train/validation.hpp"

namespace nb {
namespace {

class BaseTask final : public StageTask {
 public:
  BaseTask(const TrainSettings& settings, const BatchPlan& batches, TrainedModel& model,
           const TrainData& data, const PortDefects& defects)
      : settings_(settings),
        model_(model),
        data_(data),
        defects_(defects),
        iterations_(planned_iterations(settings, model.decoder.config())),
        plan_{batches.accumulation_steps, settings.grad_clip, gradient_sum(defects)},
        train_start_(data.train.state()),
        validation_start_(data.validation.state()) {}

  TrainingStage stage() const override { return TrainingStage::kBase; }
  std::int64_t iterations() const override { return iterations_; }
  std::optional<std::int64_t> tokens_per_step() const override {
    return settings_.total_batch_tokens;
  }

  SchedulePoint schedule(std::int64_t step) const override {
    const LrSchedule schedule = {iterations_, settings_.warmup_ratio, settings_.warmdown_ratio,
                                 settings_.final_lr_frac};
    return {step, lr_multiplier(schedule, step), muon_momentum(step)};
  }

  Result<StepOutcome> update(const SchedulePoint& point, StepRow&) override {
    const auto next = [&] {
      return as_ported(data_.train.next(settings_.device_batch_size, settings_.sequence_len),
                       defects_);
    };
    if (model_.replica != nullptr)
      return run_step_with(*model_.replica, model_.decoder, model_.optimizers, plan_, point, next);
    return run_step(model_, plan_, point, next);
  }

  Result<void> validate(StepRow& row) override {
    const std::int64_t batch_tokens = settings_.device_batch_size * settings_.sequence_len;
    const ValidationPlan plan = {std::max<std::int64_t>(1, settings_.eval_tokens / batch_tokens),
                                 settings_.device_batch_size, settings_.sequence_len};
    NB_TRY(row.val_bpb, validation_bits_per_byte(model_.decoder, data_.validation,
                                                 validation_start_, data_.tokenizer, plan));
    return {};
  }

  Json state() const override { return data_.train.state(); }
  Result<void> restore(const Json& state) override { return data_.train.restore(state); }

  const Json& train_start() const { return train_start_; }
  const Json& validation_start() const { return validation_start_; }

 private:
  const TrainSettings& settings_;
  TrainedModel& model_;
  const TrainData& data_;
  const PortDefects& defects_;
  std::int64_t iterations_;
  StepPlan plan_;
  Json train_start_, validation_start_;
};

Json identity_of(const TrainSettings& settings, const Decoder& decoder, const TrainData& data,
                 const BaseTask& task, const PortDefects& defects) {
  TrainSettings copy = settings;
  Json identity =
      identity_of_run(with_defects(hashed_fields(copy.fields()), defects), decoder, data.tokenizer);
  identity["train_data"] = task.train_start();
  identity["validation_data"] = task.validation_start();
  return identity;
}

}  // namespace

Result<TrainResult> train(const TrainSettings& asked, Device& device, const TrainData& data,
                          const std::filesystem::path& folder, const TrainHooks& hooks,
                          const PortDefects& defects, const std::optional<MeshSettings>& mesh) {
  NB_CHECK(device.executes(), "[train] needs a device that executes; predict() is for dry ones");
  NB_TRY_VOID(check_schedule(asked));
  NB_TRY(const DecoderConfig config, decoder_config(asked, data.tokenizer.vocab_size()));
  const TrainSettings settings = as_ported(asked, config, defects);
  NB_TRY(const AdamWDenominator denominator, base_adamw(settings));
  NB_TRY(const BatchPlan batches, plan_batch(settings, 1));
  NB_TRY_VOID(check_keep_steps(settings, planned_iterations(settings, config)));
  NB_TRY_VOID(check_replicas(batches.accumulation_steps, defects));
  NB_TRY_VOID(check_ranks(mesh, batches.accumulation_steps, device.profile(), Shared::kMicroBatches,
                          Parallel::kTensor));
  NB_TRY_VOID(check_model_ranks(mesh, config, TrainingStage::kBase));
  if (mesh)
    NB_TRY_VOID(check_context(config, mesh->context_ranks(), context_kind(mesh->context_name())));
  NB_TRY_VOID(check_trainable(device));
  if (mesh && mesh->stages() > 1) NB_TRY_VOID(check_unscaled(device, "a pipeline (mesh/pp)"));
  try {
    TrainedModel model(config, device);
    const OptimizerRates rates = {settings.embedding_lr, settings.unembedding_lr,
                                  settings.matrix_lr, settings.weight_decay};
    const auto prepare = [&](TrainedModel& one) {
      one.adamw_denominator = denominator;
      as_ported(one.tensor_plan, defects);
      prepare_optimizers(one, rates, optimizer_rules(defects, denominator));
      trained_decoder(one).set_recompute(settings.recompute.value_or(false));
    };
    prepare_ranks(mesh, model, prepare);
    add_replica(model, rates, settings, defects);
    if (model.replica != nullptr) NB_TRY_VOID(check_unscaled(device, "a second replica"));
    if (model.ranks != nullptr && model.replica != nullptr)
      return bad_input(fmt::format("mesh: {} trains two replicas on one card; leave one of the two",
                                   info(PortDefect::kUnsyncedEmbeddingGradients).name));
    BaseTask task(settings, batches, model, data, defects);
    const auto start = [&]() -> Result<void> {
      model.decoder.init(settings.seed);
      return {};
    };
    Json identity = identity_of(asked, model.decoder, data, task, defects);
    add_adamw(denominator, identity);
    add_mesh(model, identity);
    return run_training(task, model, data.tokenizer, identity,
                        {settings.eval_every, settings.sample_every, settings.checkpoint_every,
                         settings.keep_steps},
                        start, folder, hooks);
  } catch (const OutOfMemory& failure) {
    const std::int64_t fits =
        largest_fitting_batch({.config = config,
                               .device_batch_size = settings.device_batch_size,
                               .accumulation_steps = batches.accumulation_steps,
                               .grad_clip = settings.grad_clip},
                              device.profile());
    return run_error(fmt::format(
        "{}; {}", failure.what(),
        fits > 0 ? fmt::format("the largest device_batch_size that fits is {}", fits)
                 : std::string("not even device_batch_size 1 fits: choose a smaller depth")));
  }
}

}  // namespace nb
