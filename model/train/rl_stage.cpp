#include "model/train/rl_stage.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "model/data/batch_hash.hpp"
#include "model/data/chat/conversation_rows.hpp"
#include "model/data/chat/loader_place.hpp"
#include "model/device/device.hpp"
#include "model/engine/decoder_language_model.hpp"
#include "model/ops/policy_loss.hpp"
#include "model/ops/transfer.hpp"
#include "model/ops/weighted_sum.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "model/train/adapter_file.hpp"
#include "model/train/advantages.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/not_finite.hpp"
#include "model/train/rl_objective.hpp"
#include "model/train/rl_rollout.hpp"
#include "model/train/training_defects.hpp"

namespace nb {
namespace {

// Rows that are trained on together.
struct TrainingPass {
  Batch batch;
  std::vector<float> advantages;     // of each token's row
  std::vector<float> old_log_probs;  // of each token; empty: those of now
  std::vector<float> reference_log_probs;
};

class RlTask final : public StageTask {
 public:
  RlTask(const RlSettings& settings, std::int64_t steps, int pad, TrainedModel& model,
         Decoder* reference, const RlData& data, std::function<void(const std::string&)> note,
         const PortDefects& defects)
      : settings_(settings),
        steps_(steps),
        pad_(pad),
        model_(model),
        reference_(reference),
        data_(data),
        note_(std::move(note)),
        defects_(defects),
        sampler_(model.decoder, data.tokenizer, {.max_rows = settings.rollout_batch_size}) {}

  TrainingStage stage() const override { return TrainingStage::kRl; }
  std::int64_t iterations() const override { return steps_; }
  std::optional<std::int64_t> tokens_per_step() const override { return std::nullopt; }
  SchedulePoint schedule(std::int64_t step) const override {
    return {step, 1 - static_cast<double>(step) / static_cast<double>(steps_), kMuonMomentum};
  }
  Result<StepOutcome> update(const SchedulePoint& point, StepRow& row) override;
  Result<void> validate(StepRow& row) override;
  Json state() const override {
    return to_json(LoaderPlace{data_.train.sha256, 0, 1, optimizer_steps_});
  }
  Result<void> restore(const Json& state) override {
    NB_TRY(optimizer_steps_, taken_of(state, {data_.train.sha256, 0, 1, 0}));
    return {};
  }

 private:
  RolloutPlan rollout_plan() const {
    return {settings_.num_samples,
            settings_.device_batch_size,
            settings_.max_new_tokens,
            settings_.temperature,
            settings_.top_k,
            settings_.shares_first_token,
            settings_.seed};
  }
  std::vector<std::size_t> questions_of(std::int64_t step) const;
  Result<std::vector<TrainingPass>> passes_of(std::span<const Rollout> rollouts, StepRow& row);
  std::vector<float> log_probs(Decoder& decoder, const Batch& batch) const;
  std::vector<double> shares_of(std::span<const TrainingPass> passes) const;
  double train(const TrainingPass& pass, double passes, double share, ops::PolicyMetrics& metrics);
  void tell_of(const ops::PolicyMetrics& metrics, std::int64_t update, StepRow& row);
  void note_once(bool& is_told, const std::string& text) {
    if (!is_told && note_) note_(text);
    is_told = true;
  }

  const RlSettings& settings_;
  std::int64_t steps_;
  int pad_;
  TrainedModel& model_;
  Decoder* reference_;  // null: none
  const RlData& data_;
  std::function<void(const std::string&)> note_;
  const PortDefects& defects_;
  DecoderLanguageModel sampler_;
  std::int64_t optimizer_steps_ = 0;  // updates of all rollouts so far
  bool told_of_equal_ = false, told_of_stuck_ = false;
};

std::vector<std::size_t> RlTask::questions_of(std::int64_t step) const {
  std::vector<std::size_t> questions;
  const auto size = std::ssize(data_.train.questions);
  for (std::int64_t e = 0; e < settings_.examples_per_step; ++e)
    questions.push_back(static_cast<std::size_t>((step * settings_.examples_per_step + e) % size));
  return questions;
}

// log p of each target, 0 where there is none.
std::vector<float> RlTask::log_probs(Decoder& decoder, const Batch& batch) const {
  std::vector<float> values =
      decoder.token_losses(batch.inputs, batch.targets, batch.rows, batch.length);
  for (float& value : values) value = -value;
  return values;
}

Result<std::vector<TrainingPass>> RlTask::passes_of(std::span<const Rollout> rollouts,
                                                    StepRow& row) {
  std::vector<double> rewards;
  double tokens = 0;
  for (const Rollout& rollout : rollouts) {
    rewards.push_back(rollout.reward);
    tokens += static_cast<double>(rollout.ids.size() -
                                  data_.train.questions[rollout.question].prompt.size());
  }
  NB_TRY(const std::vector<double> advantages,
         group_advantages(rewards, settings_.num_samples, settings_.advantage));
  const auto count = static_cast<double>(rollouts.size());
  double sum = 0, spread = 0;
  for (const double reward : rewards) sum += reward;
  for (std::size_t begin = 0; begin < rewards.size();
       begin += static_cast<std::size_t>(settings_.num_samples)) {
    double mean = 0, squares = 0;
    const auto group =
        std::span(rewards).subspan(begin, static_cast<std::size_t>(settings_.num_samples));
    for (const double reward : group) mean += reward / static_cast<double>(group.size());
    for (const double reward : group) squares += (reward - mean) * (reward - mean);
    spread += std::sqrt(squares / static_cast<double>(group.size())) *
              static_cast<double>(group.size()) / count;
  }
  row.reward = sum / count;
  row.reward_spread = spread;
  row.equal_rewards = equal_reward_share(rewards, settings_.num_samples);
  row.sample_tokens = tokens / count;
  std::vector<TrainingPass> passes;
  const auto rows = static_cast<std::size_t>(settings_.device_batch_size);
  for (std::size_t begin = 0; begin < rollouts.size(); begin += rows) {
    std::vector<RenderedConversation> rendered;
    std::vector<const RenderedConversation*> pointers;
    for (std::size_t i = begin; i < begin + rows; ++i) {
      rendered.push_back({rollouts[i].ids, rollouts[i].mask});
      mask_as_ported(rendered.back().mask, defects_);
    }
    for (const RenderedConversation& one : rendered) pointers.push_back(&one);
    TrainingPass pass{as_ported(padded_batch(pointers, pad_), defects_), {}, {}, {}};
    for (std::size_t i = begin; i < begin + rows; ++i)
      pass.advantages.insert(pass.advantages.end(), static_cast<std::size_t>(pass.batch.length),
                             static_cast<float>(advantages[i]));
    if (settings_.objective != RlObjective::kPolicyGradient && settings_.updates_per_rollout > 1)
      pass.old_log_probs = log_probs(model_.decoder, pass.batch);
    if (reference_ != nullptr) pass.reference_log_probs = log_probs(*reference_, pass.batch);
    passes.push_back(std::move(pass));
  }
  return passes;
}

// What each pass counts in an update, of objectives with a ratio.
std::vector<double> RlTask::shares_of(std::span<const TrainingPass> passes) const {
  std::vector<double> shares(passes.size(), 1 / static_cast<double>(passes.size()));
  if (!weighs_by_tokens(settings_)) return shares;
  double all = 0;
  for (std::size_t i = 0; i < passes.size(); ++i) {
    shares[i] = static_cast<double>(
        std::ranges::count_if(passes[i].batch.targets, [](int target) { return target >= 0; }));
    all += shares[i];
  }
  for (double& share : shares) share = all > 0 ? share / all : 0;
  return shares;
}

// Adds the pass's share of the step's gradient; what of the objective it was.
double RlTask::train(const TrainingPass& pass, double passes, double share_of_pass,
                     ops::PolicyMetrics& metrics) {
  const Batch& batch = pass.batch;
  auto read = std::make_shared<ops::PolicyMetrics>();
  const auto objective = [&](const Tensor& losses) {
    if (settings_.objective != RlObjective::kPolicyGradient) {
      const std::vector<int> sequences = ops::sequences_of(batch.targets, batch.length);
      return ops::policy_loss(
          losses, {pass.old_log_probs, pass.reference_log_probs, pass.advantages, sequences},
          policy_options(settings_), share_of_pass, read);
    }
    double valid = 0;
    for (const int target : batch.targets) valid += target >= 0 ? 1 : 0;
    const double share = 1 / (std::max(valid, 1.0) * passes);
    std::vector<float> weights = pass.advantages;
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] =
          batch.targets[i] < 0 ? 0.0F : static_cast<float>(static_cast<double>(weights[i]) * share);
    return ops::weighted_sum(losses, weights);
  };
  const float loss = model_.decoder.objective_and_backward(batch.inputs, batch.targets, batch.rows,
                                                           batch.length, objective);
  const bool is_first = metrics.tokens == 0;
  metrics.ratio_min = is_first ? read->ratio_min : std::min(metrics.ratio_min, read->ratio_min);
  metrics.ratio_max = is_first ? read->ratio_max : std::max(metrics.ratio_max, read->ratio_max);
  const auto all = static_cast<double>(metrics.tokens + read->tokens);
  const double part = all > 0 ? static_cast<double>(read->tokens) / all : 0;
  const auto average = [part](double& mean, double other) { mean += part * (other - mean); };
  average(metrics.clip_low_fraction, read->clip_low_fraction);
  average(metrics.clip_high_fraction, read->clip_high_fraction);
  average(metrics.reference_kl, read->reference_kl);
  metrics.tokens += read->tokens;
  const bool scales_itself = settings_.objective == RlObjective::kPolicyGradient;
  return static_cast<double>(loss) * (scales_itself ? 1 : share_of_pass);
}

void RlTask::tell_of(const ops::PolicyMetrics& metrics, std::int64_t update, StepRow& row) {
  if (settings_.objective == RlObjective::kPolicyGradient) return;
  const bool has_clip = settings_.objective != RlObjective::kSapo;
  if (has_clip) row.clip_fraction = metrics.clip_low_fraction + metrics.clip_high_fraction;
  row.ratio_spread = metrics.ratio_max - metrics.ratio_min;
  if (settings_.kl_weight > 0) row.kl = metrics.reference_kl;
  if (is_ratio_stuck(metrics, update))
    note_once(told_of_stuck_,
              fmt::format("step {}: the ratio does not move after an update: the {} does nothing",
                          row.step, has_clip ? "clip" : "gate"));
}

Result<StepOutcome> RlTask::update(const SchedulePoint& point, StepRow& row) {
  Device& device = model_.decoder.device();
  StepOutcome outcome;
  device.synchronize();
  const std::int64_t start_ns = device.time_ns();
  const std::vector<std::size_t> questions = questions_of(row.step);
  BatchHash asked;  // not the samples: those are the model's
  for (const std::size_t question : questions) asked.add(data_.train.questions[question].prompt);
  outcome.batch_hash = asked.value();
  const std::int64_t sampled_at = optimizer_steps_;
  // A trace shows the training part alone: rollouts are hundreds of passes that look alike.
  const bool is_traced = device.trace().recording();
  device.trace().end();
  const std::vector<Rollout> rollouts =
      roll_out(sampler_, data_.train, questions, row.step, rollout_plan());
  if (is_traced) device.trace().begin_step();
  device.synchronize();
  row.generate_time_ns = static_cast<double>(device.time_ns() - start_ns);
  const UseScope scope(device, Use::kTune);
  NB_TRY(const std::vector<TrainingPass> passes, passes_of(rollouts, row));
  if (*row.equal_rewards == 1)
    note_once(told_of_equal_, fmt::format("step {}: in every group all rewards are equal: this "
                                          "step teaches nothing",
                                          row.step));
  const std::vector<double> shares = shares_of(passes);
  for (std::int64_t update = 0; update < settings_.updates_per_rollout; ++update) {
    ops::PolicyMetrics metrics;
    double loss = 0;
    for (std::size_t i = 0; i < passes.size(); ++i) {
      const TrainingPass& pass = passes[i];
      tell_batch(model_.observer, pass.batch);
      const double part = train(pass, static_cast<double>(passes.size()), shares[i], metrics);
      loss += part;
      note_not_finite(outcome.not_finite, part, model_.decoder, pass.batch);
      if (const auto sum = gradient_sum(defects_)) round_gradients(model_.decoder, *sum);
      outcome.tokens += pass.batch.rows * pass.batch.length;
    }
    if (update == 0) outcome.loss = loss;
    tell_of(metrics, update, row);
    const std::int64_t sampled[] = {sampled_at};
    row.sampler_age = static_cast<double>(sampler_age(sampled, optimizer_steps_));
    const SchedulePoint own = {optimizer_steps_, point.lr_multiplier, point.momentum};
    outcome.grad_norm = apply_gradients(model_.decoder, model_.optimizers, std::nullopt, own, loss,
                                        model_.observer);
    ++optimizer_steps_;
  }
  ops::read_scalar(device, "train_loss");
  device.synchronize();
  outcome.time_ns = device.time_ns() - start_ns;
  return outcome;
}

Result<void> RlTask::validate(StepRow& row) {
  std::vector<std::size_t> questions;
  const auto size = std::ssize(data_.validation.questions);
  for (std::int64_t i = 0; i < std::min(settings_.eval_examples, size); ++i)
    questions.push_back(static_cast<std::size_t>(i));
  RolloutPlan plan = rollout_plan();
  plan.num_samples = plan.samples_a_seed = settings_.eval_samples;
  const std::vector<Rollout> rollouts =
      roll_out(sampler_, data_.validation, questions, /*step=*/0, plan);
  double first = 0, any = 0;
  for (std::size_t begin = 0; begin < rollouts.size();
       begin += static_cast<std::size_t>(settings_.eval_samples)) {
    const auto group =
        std::span(rollouts).subspan(begin, static_cast<std::size_t>(settings_.eval_samples));
    first += group.front().reward;
    any += std::ranges::max(group, {}, &Rollout::reward).reward;
  }
  row.val_accuracy = first / static_cast<double>(questions.size());
  row.val_pass_at_k = any / static_cast<double>(questions.size());
  return {};
}

// Room for a prompt and at least one token of an answer.
Result<void> check_prompts(const QuestionSet& set, const DecoderConfig& config, const char* split) {
  for (std::size_t i = 0; i < set.questions.size(); ++i)
    if (std::ssize(set.questions[i].prompt) >= config.max_positions())
      return bad_input(fmt::format(
          "{} question {} has {} tokens, which leave none of the model's {} positions to an "
          "answer; leave it out, or train BASE with a longer sequence_len",
          split, i + 1, set.questions[i].prompt.size(), config.max_positions()));
  return {};
}

}  // namespace

Result<TrainResult> train_rl(const RlSettings& asked, Device& device, const RlData& data,
                             const ParentCheckpoint& parent, const std::filesystem::path& folder,
                             const TrainHooks& hooks, const PortDefects& defects) {
  const RlSettings settings = as_ported(asked, std::ssize(data.train.questions), defects);
  NB_TRY_VOID(passes_per_example(settings));
  NB_TRY(const auto model,
         open_parent(parent, device, data.tokenizer, settings.rates, settings.lora, defects));
  NB_TRY_VOID(check_prompts(data.train, model->decoder.config(), "training"));
  NB_TRY_VOID(check_prompts(data.validation, model->decoder.config(), "validation"));
  NB_TRY(const ChatTokens tokens, chat_tokens(data.tokenizer));
  const std::int64_t steps = planned_steps(settings, std::ssize(data.train.questions));
  if (steps < 1)
    return bad_input(fmt::format(
        "{} questions are fewer than the {} of one step; give more or a smaller examples_per_step",
        data.train.questions.size(), settings.examples_per_step));
  std::unique_ptr<Decoder> reference;
  if (settings.has_reference) {
    reference = std::make_unique<Decoder>(model->decoder.config(), device);
    NB_TRY_VOID(load_merged_weights(parent.file, *reference));
    if (settings.kl_weight == 0 && hooks.on_note)
      hooks.on_note(
          "has_reference: the first weights take memory and time, and change nothing: "
          "kl_weight is 0");
  }
  RlTask task(settings, steps, tokens.assistant_end, *model, reference.get(), data, hooks.on_note,
              defects);
  RlSettings copy = asked;
  return run_chat_stage(task, *model, parent,
                        {data.train.sha256, data.validation.sha256, data.tokenizer},
                        with_defects(hashed_fields(copy.fields()), defects),
                        {settings.eval_every, /*sample_every=*/0,
                         settings.checkpoints.checkpoint_every, settings.checkpoints.keep_steps},
                        folder, hooks);
}

}  // namespace nb
