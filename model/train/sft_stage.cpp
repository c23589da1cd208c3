#include "model/train/sft_stage.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "model/data/chat/conversation_rows.hpp"
#include "model/device/device.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/packed_sft_stage.hpp"
#include "model/train/training_defects.hpp"
#include "model/train/validation.hpp"

namespace nb {
namespace {

class SftTask final : public StageTask {
 public:
  SftTask(const SftSettings& settings, std::int64_t steps, std::int64_t accumulation_steps,
          TrainedModel& model, ConversationRows train, ConversationRows validation,
          const PortDefects& defects)
      : settings_(settings),
        steps_(steps),
        model_(model),
        train_(std::move(train)),
        validation_(std::move(validation)),
        defects_(defects),
        plan_{accumulation_steps, std::nullopt, gradient_sum(defects)} {}

  TrainingStage stage() const override { return TrainingStage::kSft; }
  std::int64_t iterations() const override { return steps_ - 1; }
  std::optional<std::int64_t> tokens_per_step() const override { return std::nullopt; }

  SchedulePoint schedule(std::int64_t step) const override {
    return {step, 1 - static_cast<double>(step) / static_cast<double>(steps_), kMuonMomentum};
  }

  Result<StepOutcome> update(const SchedulePoint& point, StepRow&) override {
    const UseScope scope(model_.decoder.device(), Use::kTune);
    const auto next = [&] { return as_ported(train_.next(settings_.device_batch_size), defects_); };
    return run_step(model_, plan_, point, next);
  }

  Result<void> validate(StepRow& row) override {
    const UseScope scope(model_.decoder.device(), Use::kTune);
    validation_.rewind();
    double sum = 0;
    for (std::int64_t i = 0; i < settings_.eval_batches; ++i) {
      const Batch batch = validation_.next(settings_.device_batch_size);
      sum += mean_loss_of(model_.decoder, batch);
    }
    row.val_loss = sum / static_cast<double>(settings_.eval_batches);
    return {};
  }

  Json state() const override { return train_.state(); }
  Result<void> restore(const Json& state) override { return train_.restore(state); }

 private:
  const SftSettings& settings_;
  std::int64_t steps_;  // as nanochat counts: the last one trains nothing
  TrainedModel& model_;
  ConversationRows train_, validation_;
  const PortDefects& defects_;
  StepPlan plan_;
};

}  // namespace

Result<TrainResult> train_sft(const SftSettings& asked, Device& device, const ChatData& data,
                              const ParentCheckpoint& parent, const std::filesystem::path& folder,
                              const TrainHooks& hooks, const PortDefects& defects,
                              const std::optional<MeshSettings>& mesh) {
  if (asked.packed)
    return train_packed_sft(asked, device, data, parent, folder, hooks, defects, mesh);
  const SftSettings settings = as_ported(asked, std::ssize(data.train.rendered), defects);
  NB_TRY(const std::int64_t accumulation, accumulation_steps(settings, /*sequence_len=*/0));
  NB_TRY_VOID(check_ranks(mesh, accumulation, device.profile()));
  NB_TRY(const auto model,
         open_parent(parent, device, data.tokenizer, settings.rates, settings.lora, defects, mesh));
  NB_TRY_VOID(check_lengths(data.train, model->decoder.config(), "training"));
  NB_TRY_VOID(check_lengths(data.validation, model->decoder.config(), "validation"));
  NB_TRY(const ChatTokens tokens, chat_tokens(data.tokenizer));
  const auto ported = set_as_ported(data.train, defects);
  NB_TRY(ConversationRows train,
         ConversationRows::create(ported ? *ported : data.train, tokens.assistant_end));
  NB_TRY(ConversationRows validation,
         ConversationRows::create(data.validation, tokens.assistant_end));
  const std::int64_t steps = planned_steps(settings, std::ssize(data.train.rendered));
  if (steps < kFewestSftSteps)
    return bad_input(fmt::format(
        "{} conversations make {} steps of {}; at least two are needed, as the last one trains "
        "nothing: give more conversations or a smaller target_examples_per_step",
        data.train.rendered.size(), steps, settings.target_examples_per_step));
  SftTask task(settings, steps, accumulation, *model, std::move(train), std::move(validation),
               defects);
  SftSettings copy = asked;
  return run_chat_stage(task, *model, parent,
                        {data.train.sha256, data.validation.sha256, data.tokenizer},
                        with_defects(hashed_fields(copy.fields()), defects),
                        {settings.eval_every, /*sample_every=*/0,
                         settings.checkpoints.checkpoint_every, settings.checkpoints.keep_steps},
                        folder, hooks);
}

}  // namespace nb
