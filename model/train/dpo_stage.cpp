#include "model/train/dpo_stage.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "model/data/batch_hash.hpp"
#include "model/data/chat/loader_place.hpp"
#include "model/device/device.hpp"
#include "model/ops/objectives.hpp"
#include "model/ops/transfer.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/loss_scaler.hpp"
#include "model/train/not_finite.hpp"
#include "model/train/training_defects.hpp"

namespace nb {
namespace {

// Means over the pairs of several batches.
struct PairMeans {
  double loss = 0;
  ops::PreferenceMetrics metrics;
  void add(double loss_of_batch, const ops::PreferenceMetrics& m, double share) {
    loss += share * loss_of_batch;
    metrics.chosen_reward += share * m.chosen_reward;
    metrics.rejected_reward += share * m.rejected_reward;
    metrics.margin += share * m.margin;
    metrics.accuracy += share * m.accuracy;
  }
};

class DpoTask final : public StageTask {
 public:
  DpoTask(const DpoSettings& settings, std::int64_t steps, std::int64_t accumulation_steps, int pad,
          TrainedModel& model, const PreferenceData& data, const PortDefects& defects)
      : settings_(settings),
        steps_(steps),
        accumulation_steps_(accumulation_steps),
        pad_(pad),
        model_(model),
        data_(data),
        defects_(defects) {}

  TrainingStage stage() const override { return TrainingStage::kDpo; }
  std::int64_t iterations() const override { return steps_; }
  std::optional<std::int64_t> tokens_per_step() const override { return std::nullopt; }
  SchedulePoint schedule(std::int64_t step) const override {
    return {step, 1 - static_cast<double>(step) / static_cast<double>(steps_), kMuonMomentum};
  }
  Result<StepOutcome> update(const SchedulePoint& point, StepRow& row) override;
  Result<void> validate(StepRow& row) override;
  Json state() const override { return to_json(place()); }
  Result<void> restore(const Json& state) override {
    NB_TRY(taken_, taken_of(state, place()));
    return {};
  }

 private:
  LoaderPlace place() const { return {data_.train.sha256, 0, 1, taken_}; }
  ops::PreferenceOptions options() const { return {settings_.beta, settings_.label_smoothing}; }
  static std::vector<ops::PreferencePair> pairs_of(Decoder& reference, const Batch& batch);
  Batch next();
  double pass(TrainedModel& model, const Batch& batch, double share,
              ops::PreferenceMetrics& metrics) const;
  Result<StepOutcome> update_on_ranks(const SchedulePoint& point, StepRow& row);

  const DpoSettings& settings_;
  std::int64_t steps_, accumulation_steps_;
  int pad_;
  TrainedModel& model_;
  const PreferenceData& data_;
  const PortDefects& defects_;
  std::int64_t taken_ = 0;  // pairs, since the start
};

// The first half of the rows are the chosen answers; what the reference says of each.
std::vector<ops::PreferencePair> DpoTask::pairs_of(Decoder& reference, const Batch& batch) {
  const std::vector<float> losses =
      reference.token_losses(batch.inputs, batch.targets, batch.rows, batch.length);
  const auto log_prob = [&](const ops::RowSpan& rows) {
    double sum = 0;
    for (std::int64_t i = rows.begin; i < rows.end; ++i)
      sum -= static_cast<double>(losses[static_cast<std::size_t>(i)]);
    return sum;
  };
  const std::int64_t count = batch.rows / 2;
  std::vector<ops::PreferencePair> pairs;
  for (std::int64_t i = 0; i < count; ++i) {
    const ops::RowSpan chosen{i * batch.length, (i + 1) * batch.length};
    const ops::RowSpan rejected{(count + i) * batch.length, (count + i + 1) * batch.length};
    pairs.push_back({chosen, rejected, log_prob(chosen), log_prob(rejected)});
  }
  return pairs;
}

Batch DpoTask::next() {
  Batch batch =
      as_ported(preference_batch(data_.train, taken_, settings_.device_batch_size, pad_), defects_);
  taken_ += settings_.device_batch_size;
  return batch;
}

// Adds the share of a batch's gradient; its loss.
double DpoTask::pass(TrainedModel& model, const Batch& batch, double share,
                     ops::PreferenceMetrics& metrics) const {
  const std::vector<ops::PreferencePair> pairs = pairs_of(*model.reference, batch);
  auto read = std::make_shared<ops::PreferenceMetrics>();
  const float loss = model.decoder.objective_and_backward(
      batch.inputs, batch.targets, batch.rows, batch.length, [&](const Tensor& losses) {
        return ops::preference_loss(losses, pairs, options(), share, read);
      });
  metrics = *read;
  return static_cast<double>(loss);
}

void tell_of(const PairMeans& means, StepRow& row) {
  row.margin = means.metrics.margin;
  row.pair_accuracy = means.metrics.accuracy;
  row.chosen_reward = means.metrics.chosen_reward;
  row.rejected_reward = means.metrics.rejected_reward;
}

Result<StepOutcome> DpoTask::update_on_ranks(const SchedulePoint& point, StepRow& row) {
  struct Pairs {
    double loss = 0;
    ops::PreferenceMetrics metrics;
  };
  std::vector<Pairs> batches(static_cast<std::size_t>(accumulation_steps_));
  StepOutcome outcome = model_.ranks->step(
      {accumulation_steps_, std::nullopt, gradient_sum(defects_)}, point, [&] { return next(); },
      [&](TrainedModel& model, const Batch& batch, std::int64_t micro, double share) {
        Pairs& own = batches[static_cast<std::size_t>(micro)];
        return own.loss = pass(model, batch, share, own.metrics);
      });
  PairMeans means;
  for (const Pairs& one : batches)
    means.add(one.loss, one.metrics, 1 / static_cast<double>(accumulation_steps_));
  outcome.loss = means.loss;
  tell_of(means, row);
  return outcome;
}

Result<StepOutcome> DpoTask::update(const SchedulePoint& point, StepRow& row) {
  Device& device = model_.decoder.device();
  const UseScope scope(device, Use::kTune);
  if (model_.ranks != nullptr) return update_on_ranks(point, row);
  StepOutcome outcome;
  device.synchronize();
  const std::int64_t start_ns = device.time_ns();
  const double share = 1 / static_cast<double>(accumulation_steps_);
  PairMeans means;
  BatchHash read;
  for (std::int64_t micro = 0; micro < accumulation_steps_; ++micro) {
    const Batch batch = next();
    tell_batch(model_.observer, batch);
    read.add(batch);
    ops::PreferenceMetrics metrics;
    const double loss = pass(model_, batch, share, metrics);
    means.add(loss, metrics, share);
    if (const auto sum = gradient_sum(defects_)) round_gradients(model_.decoder, *sum);
    note_not_finite(outcome.not_finite, loss, model_.decoder, batch);
    outcome.tokens += batch.rows * batch.length;
  }
  outcome.batch_hash = read.value();
  outcome.loss = means.loss;
  tell_of(means, row);
  outcome.grad_norm = apply_gradients(model_.decoder, model_.optimizers, std::nullopt, point,
                                      outcome.loss, model_.observer);
  ops::read_scalar(device, "train_loss");
  device.synchronize();
  outcome.time_ns = device.time_ns() - start_ns;
  return outcome;
}

Result<void> DpoTask::validate(StepRow& row) {
  const UseScope scope(model_.decoder.device(), Use::kTune);
  const double share = 1 / static_cast<double>(settings_.eval_batches);
  PairMeans means;
  for (std::int64_t i = 0; i < settings_.eval_batches; ++i) {
    const Batch batch = preference_batch(data_.validation, i * settings_.device_batch_size,
                                         settings_.device_batch_size, pad_);
    const std::vector<float> losses =
        model_.decoder.token_losses(batch.inputs, batch.targets, batch.rows, batch.length);
    Device& device = model_.decoder.device();
    Tensor on_device = device.allocate({std::ssize(losses)}, DType::kFp32, "token_losses");
    ops::upload(device, losses, on_device, "token_losses");
    auto metrics = std::make_shared<ops::PreferenceMetrics>();
    const float loss =
        ops::preference_loss(on_device, pairs_of(*model_.reference, batch), options(), 1, metrics)
            .host()[0];
    means.add(static_cast<double>(loss), *metrics, share);
  }
  row.val_loss = means.loss;
  row.val_pair_accuracy = means.metrics.accuracy;
  row.val_margin = means.metrics.margin;
  return {};
}

Result<void> check_pair_lengths(const PreferenceSet& set, const DecoderConfig& config,
                                const char* split) {
  for (std::size_t i = 0; i < set.pairs.size(); ++i)
    for (const RenderedConversation* one : {&set.pairs[i].chosen, &set.pairs[i].rejected})
      if (std::ssize(one->ids) - 1 > config.max_positions())
        return bad_input(fmt::format(
            "{} pair {} has {} tokens, beyond the model's {} positions; leave it out, or train "
            "BASE with a longer sequence_len",
            split, i + 1, one->ids.size(), config.max_positions()));
  return {};
}

}  // namespace

Result<TrainResult> train_dpo(const DpoSettings& asked, Device& device, const PreferenceData& data,
                              const ParentCheckpoint& parent, const std::filesystem::path& folder,
                              const TrainHooks& hooks, const PortDefects& defects,
                              const std::optional<MeshSettings>& mesh) {
  const DpoSettings settings = as_ported(asked, std::ssize(data.train.pairs), defects);
  NB_TRY(const std::int64_t accumulation, accumulation_steps(settings));
  NB_TRY_VOID(check_ranks(mesh, accumulation, device.profile()));
  NB_TRY_VOID(check_model_ranks(mesh, {}, TrainingStage::kDpo));
  NB_TRY_VOID(check_unscaled(device, "dpo"));
  NB_TRY(const auto model,
         open_parent(parent, device, data.tokenizer, settings.rates, settings.lora, defects, mesh));
  NB_TRY_VOID(check_pair_lengths(data.train, model->decoder.config(), "training"));
  NB_TRY_VOID(check_pair_lengths(data.validation, model->decoder.config(), "validation"));
  NB_TRY(const ChatTokens tokens, chat_tokens(data.tokenizer));
  const std::int64_t steps = planned_steps(settings, std::ssize(data.train.pairs));
  if (steps < 1)
    return bad_input(
        fmt::format("{} pairs are fewer than the {} of one step; give more or a smaller "
                    "target_examples_per_step",
                    data.train.pairs.size(), settings.target_examples_per_step));
  NB_TRY_VOID(add_reference(parent, *model));
  DpoTask task(settings, steps, accumulation, tokens.assistant_end, *model, data, defects);
  DpoSettings copy = asked;
  return run_chat_stage(task, *model, parent,
                        {data.train.sha256, data.validation.sha256, data.tokenizer},
                        with_defects(hashed_fields(copy.fields()), defects),
                        {settings.eval_every, /*sample_every=*/0,
                         settings.checkpoints.checkpoint_every, settings.checkpoints.keep_steps},
                        folder, hooks);
}

}  // namespace nb
