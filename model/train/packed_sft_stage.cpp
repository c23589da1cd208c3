#include "model/train/packed_sft_stage.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/data/chat/conversation_packs.hpp"
#include "model/device/device.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/training_defects.hpp"
#include "model/train/validation.hpp"

namespace nb {
namespace {

std::int64_t validation_batches(const SftSettings& settings, std::int64_t length) {
  return std::max<std::int64_t>(
      1, settings.packed->eval_tokens / (settings.device_batch_size * length));
}

// What a user should know of conversations that are never trained on.
void tell_of_long_ones(const ConversationPacks& packs, const ChatData& data, std::int64_t length,
                       const TrainHooks& hooks) {
  if (packs.too_long() == 0 || !hooks.on_note) return;
  hooks.on_note(
      fmt::format("{} of {} conversations have more than the {} tokens of a packed row: they are "
                  "never trained on and hold their places in the buffer, as in nanochat",
                  packs.too_long(), data.train.rendered.size(), length + 1));
}

class PackedSftTask final : public StageTask {
 public:
  PackedSftTask(const SftSettings& settings, std::int64_t length, std::int64_t accumulation_steps,
                std::int64_t steps_before, TrainedModel& model, ConversationPacks train,
                ConversationPacks validation, StreamPlan updates, const PortDefects& defects)
      : settings_(settings),
        length_(length),
        steps_before_(steps_before),
        model_(model),
        defects_(defects),
        train_(std::move(train)),
        validation_(std::move(validation)),
        plan_{accumulation_steps, std::nullopt, gradient_sum(defects)},
        updates_(as_ported(std::move(updates), defects)) {}

  TrainingStage stage() const override { return TrainingStage::kSft; }
  std::int64_t iterations() const override { return std::ssize(updates_.progress); }
  std::optional<std::int64_t> tokens_per_step() const override {
    return settings_.packed->total_batch_tokens;
  }

  // AdamW counts on where it keeps its moments; Muon's momentum begins anew.
  SchedulePoint schedule(std::int64_t step) const override {
    return {steps_before_ + step,
            packed_multiplier(settings_.packed->warmdown,
                              updates_.progress[static_cast<std::size_t>(step)]),
            muon_momentum(step)};
  }

  Result<StepOutcome> update(const SchedulePoint& point, StepRow&) override {
    const auto next = [&] { return as_ported(train_.next(settings_.device_batch_size), defects_); };
    return run_step(model_, plan_, point, next);
  }

  Result<void> validate(StepRow& row) override {
    const std::int64_t batches = validation_batches(settings_, length_);
    ConversationPacks validation = validation_;  // from its start
    double sum = 0;
    for (std::int64_t i = 0; i < batches; ++i)
      sum += mean_loss_of(model_.decoder, validation.next(settings_.device_batch_size));
    row.val_loss = sum / static_cast<double>(batches);
    return {};
  }

  Json state() const override { return train_.state(); }
  Result<void> restore(const Json& state) override { return train_.restore(state); }

 private:
  const SftSettings& settings_;
  std::int64_t length_, steps_before_;
  TrainedModel& model_;
  const PortDefects& defects_;
  ConversationPacks train_, validation_;
  StepPlan plan_;
  StreamPlan updates_;
};

}  // namespace

Result<TrainResult> train_packed_sft(const SftSettings& asked, Device& device, const ChatData& data,
                                     const ParentCheckpoint& parent,
                                     const std::filesystem::path& folder, const TrainHooks& hooks,
                                     const PortDefects& defects,
                                     const std::optional<MeshSettings>& mesh) {
  const SftSettings settings = as_ported(asked, std::ssize(data.train.rendered), defects);
  NB_TRY(const auto model,
         open_parent(parent, device, data.tokenizer, settings.rates, settings.lora, defects, mesh));
  const DecoderConfig& config = model->decoder.config();
  const std::int64_t length = settings.packed->sequence_len.value_or(config.sequence_len);
  if (length > config.max_positions())
    return bad_input(fmt::format("sequence_len {} is beyond the model's {} positions", length,
                                 config.max_positions()));
  NB_TRY(const std::int64_t accumulation, accumulation_steps(settings, length));
  NB_TRY_VOID(check_ranks(mesh, accumulation, device.profile()));
  const PackingPlan packing = {length, settings.packed->buffer, data.tokenizer.bos()};
  const auto ported = set_as_ported(data.train, defects);
  NB_TRY(ConversationPacks train, ConversationPacks::create(ported ? *ported : data.train, packing),
         "training");
  NB_TRY(ConversationPacks validation, ConversationPacks::create(data.validation, packing),
         "validation");
  NB_TRY(StreamPlan updates, plan_packs(train, settings.device_batch_size, accumulation),
         "training");
  NB_TRY_VOID(
      check_packs(validation, settings.device_batch_size, validation_batches(settings, length)),
      "validation");
  tell_of_long_ones(train, data, length, hooks);
  std::int64_t steps_before = 0;
  if (settings.packed->keeps_optimizer) {
    NB_TRY(steps_before, trained_steps(parent.file));
  }
  PackedSftTask task(settings, length, accumulation, steps_before, *model, std::move(train),
                     std::move(validation), std::move(updates), defects);
  if (task.iterations() == 0)
    return bad_input(
        fmt::format("the {} conversations fill no more than one batch of {} rows of {}; give more "
                    "conversations or a smaller device_batch_size",
                    data.train.rendered.size(), settings.device_batch_size, length));
  const auto load_moments = [&]() -> Result<void> {
    if (!settings.packed->keeps_optimizer) return {};
    return load_optimizers(parent.file, whole_optimizers(*model));
  };
  SftSettings copy = asked;
  return run_chat_stage(task, *model, parent,
                        {data.train.sha256, data.validation.sha256, data.tokenizer},
                        with_defects(hashed_fields(copy.fields()), defects),
                        {settings.eval_every, /*sample_every=*/0,
                         settings.checkpoints.checkpoint_every, settings.checkpoints.keep_steps},
                        folder, hooks, load_moments);
}

}  // namespace nb
