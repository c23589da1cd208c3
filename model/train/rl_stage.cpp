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
#include "model/ops/objectives.hpp"
#include "model/ops/transfer.hpp"
#include "model/tokenizer/chat_tokens.hpp"
#include "model/train/advantages.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/loss_scaler.hpp"
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

// One of the updates that a step makes: what its passes were.
struct Update {
  std::vector<double> losses;  // one a pass
  std::vector<ops::PolicyMetrics> metrics;
  std::vector<std::string> not_finite;  // one per rank
  double grad_norm = 0;
  double loss() const {
    double sum = 0;
    for (const double one : losses) sum += one;
    return sum;
  }
};

class RlTask final : public StageTask {
 public:
  RlTask(const RlSettings& settings, std::int64_t steps, int pad, TrainedModel& model,
         const RlData& data, std::function<void(const std::string&)> note,
         const PortDefects& defects)
      : settings_(settings),
        steps_(steps),
        pad_(pad),
        model_(model),
        data_(data),
        note_(std::move(note)),
        defects_(defects) {
    for (TrainedModel* one : models_of(model))
      samplers_.push_back(std::make_unique<DecoderLanguageModel>(
          one->decoder, data.tokenizer, ScoreBatching{.max_rows = settings.rollout_batch_size}));
  }

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
  std::vector<Rollout> roll_out_all(std::span<const std::size_t> questions, std::int64_t step);
  void train_all(TrainedModel& model, Communicator* world, const SchedulePoint& point,
                 std::span<TrainingPass> passes, std::span<Update> updates) const;
  void add_log_probs(TrainedModel& model, TrainingPass& pass) const;
  std::vector<double> shares_of(std::span<const TrainingPass> passes) const;
  double train(TrainedModel& model, const TrainingPass& pass, double passes, double share,
               ops::PolicyMetrics& metrics) const;
  void tell_of(const ops::PolicyMetrics& metrics, std::int64_t update, StepRow& row);
  void note_once(bool& is_told, const std::string& text) {
    if (!is_told && note_) note_(text);
    is_told = true;
  }

  const RlSettings& settings_;
  std::int64_t steps_;
  int pad_;
  TrainedModel& model_;
  const RlData& data_;
  std::function<void(const std::string&)> note_;
  const PortDefects& defects_;
  std::vector<std::unique_ptr<DecoderLanguageModel>> samplers_;  // one per rank
  std::int64_t optimizer_steps_ = 0;                             // updates of all rollouts so far
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
std::vector<float> log_probs(Decoder& decoder, const Batch& batch) {
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
    passes.push_back(std::move(pass));
  }
  return passes;
}

// Before the first update: by the weights that drew the samples, and by those RL began with.
void RlTask::add_log_probs(TrainedModel& model, TrainingPass& pass) const {
  if (settings_.objective != RlObjective::kPolicyGradient && settings_.updates_per_rollout > 1)
    pass.old_log_probs = log_probs(model.decoder, pass.batch);
  if (model.reference != nullptr)
    pass.reference_log_probs = log_probs(*model.reference, pass.batch);
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
double RlTask::train(TrainedModel& model, const TrainingPass& pass, double passes,
                     double share_of_pass, ops::PolicyMetrics& metrics) const {
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
  const float loss = model.decoder.objective_and_backward(batch.inputs, batch.targets, batch.rows,
                                                          batch.length, objective);
  metrics = *read;
  const bool scales_itself = settings_.objective == RlObjective::kPolicyGradient;
  return static_cast<double>(loss) * (scales_itself ? 1 : share_of_pass);
}

// The extremes and means of an update's passes, by their tokens.
void add(const ops::PolicyMetrics& read, ops::PolicyMetrics& metrics) {
  const bool is_first = metrics.tokens == 0;
  metrics.ratio_min = is_first ? read.ratio_min : std::min(metrics.ratio_min, read.ratio_min);
  metrics.ratio_max = is_first ? read.ratio_max : std::max(metrics.ratio_max, read.ratio_max);
  const auto all = static_cast<double>(metrics.tokens + read.tokens);
  const double part = all > 0 ? static_cast<double>(read.tokens) / all : 0;
  const auto average = [part](double& mean, double other) { mean += part * (other - mean); };
  average(metrics.clip_low_fraction, read.clip_low_fraction);
  average(metrics.clip_high_fraction, read.clip_high_fraction);
  average(metrics.reference_kl, read.reference_kl);
  metrics.tokens += read.tokens;
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

// Rank r of p answers the questions r, r + p, … and is trained on its own answers (nanochat's
// chat_rl.py). Everything of a step that is not a rank's goes by the order of the questions.
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
  if (model_.ranks != nullptr) model_.ranks->begin(row.step);
  const std::vector<Rollout> rollouts = roll_out_all(questions, row.step);
  if (is_traced) device.trace().begin_step();
  device.synchronize();
  row.generate_time_ns = static_cast<double>(device.time_ns() - start_ns);
  const UseScope scope(device, Use::kTune);
  NB_TRY(std::vector<TrainingPass> passes, passes_of(rollouts, row));
  if (*row.equal_rewards == 1)
    note_once(told_of_equal_, fmt::format("step {}: in every group all rewards are equal: this "
                                          "step teaches nothing",
                                          row.step));
  std::vector<Update> updates(
      static_cast<std::size_t>(settings_.updates_per_rollout),
      {std::vector<double>(passes.size()), std::vector<ops::PolicyMetrics>(passes.size()),
       std::vector<std::string>(samplers_.size()), 0});
  if (model_.ranks == nullptr) {
    train_all(model_, nullptr, point, passes, updates);
  } else {
    model_.ranks->run([&](TrainedModel& model, Communicator& world) {
      train_all(model, &world, point, passes, updates);
    });
  }
  for (std::size_t u = 0; u < updates.size(); ++u) {
    const auto update = static_cast<std::int64_t>(u);
    ops::PolicyMetrics metrics;
    for (const ops::PolicyMetrics& read : updates[u].metrics) add(read, metrics);
    tell_of(metrics, update, row);
    const std::int64_t sampled[] = {sampled_at};
    row.sampler_age = static_cast<double>(sampler_age(sampled, optimizer_steps_ + update));
    for (const std::string& where : updates[u].not_finite)
      if (outcome.not_finite.empty()) outcome.not_finite = where;
    for (const TrainingPass& pass : passes) outcome.tokens += pass.batch.rows * pass.batch.length;
  }
  outcome.loss = updates.front().loss() / static_cast<double>(samplers_.size());
  outcome.grad_norm = updates.back().grad_norm;
  optimizer_steps_ += settings_.updates_per_rollout;
  outcome.time_ns = device.time_ns() - start_ns;
  return outcome;
}

// Answers to the questions in their order, each from its rank.
std::vector<Rollout> RlTask::roll_out_all(std::span<const std::size_t> questions,
                                          std::int64_t step) {
  if (model_.ranks == nullptr)
    return roll_out(*samplers_.front(), data_.train, questions, step, rollout_plan());
  std::vector<std::vector<Rollout>> of_question(questions.size());
  model_.ranks->run([&](TrainedModel& model, Communicator& world) {
    const WholeWeights whole(model);
    const auto rank = static_cast<std::size_t>(world.rank()), ranks = samplers_.size();
    std::vector<std::size_t> own;
    for (std::size_t q = rank; q < questions.size(); q += ranks) own.push_back(questions[q]);
    std::vector<Rollout> answers =
        roll_out(*samplers_[rank], data_.train, own, step, rollout_plan());
    const std::size_t each = answers.size() / own.size();
    for (std::size_t i = 0; i < answers.size(); ++i)
      of_question[rank + i / each * ranks].push_back(std::move(answers[i]));
    world.device().synchronize();
  });
  std::vector<Rollout> all;
  for (std::vector<Rollout>& answers : of_question)
    for (Rollout& one : answers) all.push_back(std::move(one));
  return all;
}

// The updates of a step, on one rank (world null: on the only one): those passes that are its own.
void RlTask::train_all(TrainedModel& model, Communicator* world, const SchedulePoint& point,
                       std::span<TrainingPass> passes, std::span<Update> updates) const {
  const std::size_t ranks = samplers_.size();
  const std::size_t each = passes.size() / static_cast<std::size_t>(settings_.examples_per_step);
  const std::size_t rank = world == nullptr ? 0 : static_cast<std::size_t>(world->rank());
  std::vector<std::size_t> own;
  for (std::size_t i = 0; i < passes.size(); ++i)
    if (i / each % ranks == rank) own.push_back(i);
  for (const std::size_t i : own) add_log_probs(model, passes[i]);
  const std::vector<double> shares = shares_of(passes);
  const auto of_rank = static_cast<double>(ranks);  // an average over ranks takes it back
  for (std::size_t u = 0; u < updates.size(); ++u) {
    Update& update = updates[u];
    for (const std::size_t i : own) {
      const TrainingPass& pass = passes[i];
      if (rank == 0) tell_batch(model.observer, pass.batch);
      model.decoder.adapters().begin_pass(static_cast<std::int64_t>(u * passes.size() + i));
      update.losses[i] = train(model, pass, static_cast<double>(passes.size()) / of_rank,
                               shares[i] * of_rank, update.metrics[i]);
      note_on_rank(update.not_finite[rank], update.losses[i], model, pass.batch);
      if (const auto sum = gradient_sum(defects_)) round_gradients(model, *sum);
    }
    const SchedulePoint now = {optimizer_steps_ + static_cast<std::int64_t>(u), point.lr_multiplier,
                               point.momentum};
    const auto loss = [&] { return update.loss() / of_rank; };
    const double norm = world == nullptr
                            ? apply_gradients(model.decoder, model.optimizers, std::nullopt, now,
                                              loss(), model.observer)
                            : model_.ranks->update(model, *world, std::nullopt, now, loss);
    if (rank == 0) update.grad_norm = norm;
  }
  ops::read_scalar(model.decoder.device(), "train_loss");
  model.decoder.device().synchronize();
}

Result<void> RlTask::validate(StepRow& row) {
  std::vector<std::size_t> questions;
  const auto size = std::ssize(data_.validation.questions);
  for (std::int64_t i = 0; i < std::min(settings_.eval_examples, size); ++i)
    questions.push_back(static_cast<std::size_t>(i));
  RolloutPlan plan = rollout_plan();
  plan.num_samples = plan.samples_a_seed = settings_.eval_samples;
  const std::vector<Rollout> rollouts =
      roll_out(*samplers_.front(), data_.validation, questions, /*step=*/0, plan);
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
                             const TrainHooks& hooks, const PortDefects& defects,
                             const std::optional<MeshSettings>& mesh) {
  const RlSettings settings = as_ported(asked, std::ssize(data.train.questions), defects);
  NB_TRY_VOID(passes_per_example(settings));
  NB_TRY_VOID(check_ranks(mesh, settings.examples_per_step, device.profile(), Shared::kQuestions));
  NB_TRY_VOID(check_model_ranks(mesh, {}, TrainingStage::kRl));
  NB_TRY_VOID(check_unscaled(device, "rl"));
  NB_TRY(const auto model,
         open_parent(parent, device, data.tokenizer, settings.rates, settings.lora, defects, mesh));
  NB_TRY_VOID(check_prompts(data.train, model->decoder.config(), "training"));
  NB_TRY_VOID(check_prompts(data.validation, model->decoder.config(), "validation"));
  NB_TRY(const ChatTokens tokens, chat_tokens(data.tokenizer));
  const std::int64_t steps = planned_steps(settings, std::ssize(data.train.questions));
  if (steps < 1)
    return bad_input(fmt::format(
        "{} questions are fewer than the {} of one step; give more or a smaller examples_per_step",
        data.train.questions.size(), settings.examples_per_step));
  if (settings.has_reference) {
    NB_TRY_VOID(add_reference(parent, *model));
    if (settings.kl_weight == 0 && hooks.on_note)
      hooks.on_note(
          "has_reference: the first weights take memory and time, and change nothing: "
          "kl_weight is 0");
  }
  RlTask task(settings, steps, tokens.assistant_end, *model, data, hooks.on_note, defects);
  RlSettings copy = asked;
  return run_chat_stage(task, *model, parent,
                        {data.train.sha256, data.validation.sha256, data.tokenizer},
                        with_defects(hashed_fields(copy.fields()), defects),
                        {settings.eval_every, /*sample_every=*/0,
                         settings.checkpoints.checkpoint_every, settings.checkpoints.keep_steps},
                        folder, hooks);
}

}  // namespace nb
