#include "model/train/mid_stage.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "model/data/chat/conversation_stream.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/training_defects.hpp"
#include "model/train/validation.hpp"

namespace nb {
namespace {

class MidTask final : public StageTask {
 public:
  MidTask(const MidSettings& settings, std::int64_t length, std::int64_t accumulation_steps,
          TrainedModel& model, const ChatData& data, ConversationStream train,
          ConversationStream validation, const PortDefects& defects)
      : settings_(settings),
        length_(length),
        model_(model),
        data_(data),
        defects_(defects),
        train_(std::move(train)),
        validation_(std::move(validation)),
        plan_{accumulation_steps, std::nullopt, gradient_sum(defects)},
        stream_(plan_stream(train_, settings.device_batch_size, length, accumulation_steps)) {}

  TrainingStage stage() const override { return TrainingStage::kMid; }
  std::int64_t iterations() const override { return std::ssize(stream_.progress); }
  std::optional<std::int64_t> tokens_per_step() const override {
    return settings_.total_batch_tokens;
  }

  SchedulePoint schedule(std::int64_t step) const override {
    return {step,
            progress_multiplier(settings_.lr_schedule,
                                stream_.progress[static_cast<std::size_t>(step)]),
            muon_momentum(step)};
  }

  Result<StepOutcome> update(const SchedulePoint& point, StepRow&) override {
    const auto next = [&] {
      return as_ported(train_.next(settings_.device_batch_size, length_), defects_);
    };
    return run_step(model_, plan_, point, next);
  }

  Result<void> validate(StepRow& row) override {
    const std::int64_t batch_tokens = settings_.device_batch_size * length_;
    const ValidationPlan plan = {std::max<std::int64_t>(1, settings_.eval_tokens / batch_tokens),
                                 settings_.device_batch_size, length_};
    ConversationStream validation = validation_;  // from its start
    NB_TRY(row.val_bpb, bits_per_byte_of(model_.decoder, data_.tokenizer, plan,
                                         [&] { return validation.next(plan.rows, plan.length); }));
    return {};
  }

  Json state() const override { return train_.state(); }
  Result<void> restore(const Json& state) override { return train_.restore(state); }

 private:
  const MidSettings& settings_;
  std::int64_t length_;
  TrainedModel& model_;
  const ChatData& data_;
  const PortDefects& defects_;
  ConversationStream train_, validation_;
  StepPlan plan_;
  StreamPlan stream_;
};

}  // namespace

Result<TrainResult> train_mid(const MidSettings& asked, Device& device, const ChatData& data,
                              const ParentCheckpoint& parent, const std::filesystem::path& folder,
                              const TrainHooks& hooks, const PortDefects& defects,
                              const std::optional<MeshSettings>& mesh) {
  const MidSettings settings = as_ported(asked, defects);
  NB_TRY(const auto model,
         open_parent(parent, device, data.tokenizer, settings.rates, settings.lora, defects, mesh));
  const std::int64_t length = settings.sequence_len.value_or(model->decoder.config().sequence_len);
  if (length > model->decoder.config().max_positions())
    return bad_input(fmt::format("sequence_len {} is beyond the model's {} positions", length,
                                 model->decoder.config().max_positions()));
  NB_TRY(const std::int64_t accumulation, accumulation_steps(settings, length));
  NB_TRY_VOID(check_ranks(mesh, accumulation, device.profile()));
  NB_TRY(ConversationStream train, ConversationStream::create(data.train));
  NB_TRY(ConversationStream validation, ConversationStream::create(data.validation));
  MidTask task(settings, length, accumulation, *model, data, std::move(train),
               std::move(validation), defects);
  if (task.iterations() == 0)
    return bad_input(fmt::format(
        "the {} conversations hold {} tokens, no more than one batch of {}; give more "
        "conversations or a smaller device_batch_size",
        data.train.rendered.size(), data.train.tokens, settings.device_batch_size * length));
  MidSettings copy = asked;
  return run_chat_stage(task, *model, parent,
                        {data.train.sha256, data.validation.sha256, data.tokenizer},
                        with_defects(hashed_fields(copy.fields()), defects),
                        {settings.eval_every, /*sample_every=*/0,
                         settings.checkpoints.checkpoint_every, settings.checkpoints.keep_steps},
                        folder, hooks);
}

}  // namespace nb
