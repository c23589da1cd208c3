#include "model/train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "harness/base/progress.hpp"
#include "model/device/device.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/data_ranks.hpp"
#include "model/train/disturbance.hpp"
#include "model/train/loss_scaler.hpp"
#include "model/train/mfu.hpp"
#include "model/train/not_finite.hpp"
#include "model/train/samples.hpp"

namespace nb {
namespace {

// ", first in the output of …".
std::string where_not_finite(const StepOutcome& outcome, Decoder& decoder) {
  if (!outcome.not_finite.empty()) return ", first in the output of " + outcome.not_finite;
  const std::string gradients = gradients_not_finite(decoder);
  return gradients.empty() ? "" : ", in the gradient of " + gradients;
}

constexpr std::size_t kKeptCheckpoints = 2;
constexpr double kLossAverage = 0.9;  // nanochat's logged loss

class Trainer {
 public:
  Trainer(StageTask& task, TrainedModel& model, const Tokenizer& tokenizer, const Json& identity,
          const TrainLoop& loop, std::filesystem::path folder, const TrainHooks& hooks)
      : task_(task),
        model_(model),
        device_(model.decoder.device()),
        tokenizer_(tokenizer),
        identity_(identity),
        loop_(loop),
        folder_(std::move(folder)),
        hooks_(hooks),
        iterations_(task.iterations()) {
    progress_.stage = task.stage();
  }

  Result<TrainResult> run(const std::function<Result<void>()>& start);

 private:
  std::optional<std::int64_t> lacks_before(std::int64_t step,
                                           std::vector<std::string>& unusable) const;
  Json state() const;
  Json state_of_data() const;
  Result<void> restore(const Json& state);
  Result<void> restore_data(const Json& state);
  Result<bool> resume();
  void retell() const;
  Result<void> validate(StepRow& row);
  void sample(std::int64_t step);
  Result<void> update(StepRow& row);
  std::vector<std::string> differing() const;
  void check_replica(std::int64_t step);
  void tell(const StepRow& row);
  Result<void> save(bool is_finished);
  TrainResult result() const;
  // Else another process validates, samples, tells and saves (data_ranks.hpp).
  bool leads() const { return model_.ranks == nullptr || model_.ranks->leads(); }
  bool is_due(std::int64_t every, std::int64_t step) const {
    return every > 0 && step % every == 0;
  }
  bool is_kept(std::int64_t step) const {
    const auto& kept = loop_.keep_steps;
    return std::find(kept.begin(), kept.end(), step) != kept.end();
  }
  void disturb(StepPart part) const {
    if (hooks_.disturbance != nullptr) hooks_.disturbance->between_steps(part, progress_.step);
  }
  bool goes_on_with_nan() const {
    return hooks_.disturbance != nullptr && hooks_.disturbance->goes_on_with_nan(progress_.step);
  }
  void note(const std::string& text) const {
    if (hooks_.on_note) hooks_.on_note(text);
  }

  StageTask& task_;
  TrainedModel& model_;
  Device& device_;
  const Tokenizer& tokenizer_;
  const Json& identity_;
  const TrainLoop& loop_;
  std::filesystem::path folder_;
  const TrainHooks& hooks_;
  std::int64_t iterations_;
  RunProgress progress_;
  std::int64_t resumed_from_ = 0;
  std::size_t apart_ = 0;  // parameters in which the replica was said to differ
};

// The first of keep_steps before `step` without a checkpoint of its own: such a one is written when
// the run comes past its step, and never again. Why it is none is added to `unusable`.
std::optional<std::int64_t> Trainer::lacks_before(std::int64_t step,
                                                  std::vector<std::string>& unusable) const {
  std::vector<std::int64_t> kept = loop_.keep_steps;
  std::ranges::sort(kept);
  for (const std::int64_t one : kept) {
    if (one >= step) break;
    if (const auto file = open_checkpoint_of(identity_, checkpoint_path(folder_, one)); !file) {
      unusable.push_back(file.error().message);
      return one;
    }
  }
  return std::nullopt;
}

// Where the data stands, and cards that do not stand where the first one does.
Json Trainer::state() const {
  Json state = state_of_data();
  if (model_.scaler == nullptr) return state;
  return {{"data", std::move(state)}, {"loss_scale", model_.scaler->state()}};
}

Json Trainer::state_of_data() const {
  if (model_.ranks == nullptr || model_.ranks->shared_state() == nullptr) return task_.state();
  return {{"data", task_.state()}, {"devices", model_.ranks->devices()}};
}

Result<void> Trainer::restore(const Json& state) {
  if (model_.scaler == nullptr) return restore_data(state);
  if (!state.is_object() || !state.contains("data") || !state.contains("loss_scale"))
    return bad_input("/__metadata__/loader: not that of a run with loss scaling");
  NB_TRY_VOID(model_.scaler->restore(state.at("loss_scale")));
  return restore_data(state.at("data"));
}

Result<void> Trainer::restore_data(const Json& state) {
  if (model_.ranks == nullptr || model_.ranks->shared_state() == nullptr)
    return task_.restore(state);
  if (!state.is_object() || !state.contains("data") || !state.contains("devices"))
    return bad_input("/__metadata__/loader: not that of a run on several cards");
  NB_TRY_VOID(task_.restore(state.at("data")));
  return model_.ranks->restore(state.at("devices"));
}

// The newest checkpoint of this run after which nothing is to be made again, if any.
Result<bool> Trainer::resume() {
  std::vector<std::string> unusable;  // sentences
  std::optional<SafetensorsFile> newest;
  std::optional<std::int64_t> lacking;
  if (!leads()) {
    const std::string path = model_.ranks->agree("");
    if (!path.empty()) {
      NB_TRY(newest, open_checkpoint_of(identity_, path),
             "the results folder must be there for all processes");
    }
  }
  for (const auto& [step, path] : list_checkpoints(folder_)) {
    if (lacking && step >= *lacking) continue;
    auto file = open_checkpoint_of(identity_, path);
    if (!file)
      unusable.push_back(file.error().message);
    else if (lacking = lacks_before(step, unusable); !lacking) {
      newest.emplace(std::move(*file));
      break;
    }
  }
  if (leads() && model_.ranks != nullptr)
    model_.ranks->agree(newest ? std::filesystem::absolute(newest->path()).string() : "");
  if (newest) {
    NB_TRY(LoadedRun loaded,
           load_checkpoint(*newest, model_.decoder, whole_optimizers(model_), task_.stage()));
    NB_TRY_VOID(restore(*loaded.loader), newest->path());
    progress_ = std::move(loaded.progress);
    resumed_from_ = progress_.step;
    if (model_.scaler != nullptr)
      for (StepRow& row : progress_.rows)
        if (row.train_loss) row.grad_scale = model_.scaler->scale_at(row.step);
  }
  if (hooks_.on_damage)
    for (const std::string& sentence : unusable)
      hooks_.on_damage(sentence +
                       (newest ? fmt::format("; the training goes on from step {}", progress_.step)
                               : std::string("; the training begins again")));
  if (newest)
    note(fmt::format("resumed at step {} of {} from {}", progress_.step, iterations_,
                     newest->path()));
  return newest.has_value();
}

void Trainer::retell() const {
  auto sample = progress_.samples.begin();
  for (const StepRow& row : progress_.rows) {
    for (; sample != progress_.samples.end() && sample->step <= row.step; ++sample) {
      if (hooks_.on_sample) hooks_.on_sample(*sample);
    }
    if (hooks_.on_step) hooks_.on_step(row);
  }
}

void Trainer::tell(const StepRow& row) {
  progress_.rows.push_back(row);
  if (hooks_.on_step) hooks_.on_step(row);
}

Result<void> Trainer::validate(StepRow& row) {
  NB_TRY_VOID(task_.validate(row));
  for (const std::optional<double>* value : {&row.val_bpb, &row.val_loss})
    if (*value && !std::isfinite(**value) && !goes_on_with_nan())
      return run_error(fmt::format(
          "step {}: validation loss is not finite; lower the learning rates", row.step));
  return {};
}

void Trainer::sample(std::int64_t step) {
  for (const std::string& prompt : sample_prompts()) {
    progress_.samples.push_back({step, prompt, sample_text(model_.decoder, tokenizer_, prompt)});
    if (hooks_.on_sample) hooks_.on_sample(progress_.samples.back());
  }
}

Result<void> Trainer::update(StepRow& row) {
  const SchedulePoint point = task_.schedule(row.step);
  if (row.step < device_.options().trace_steps) device_.trace().begin_step();
  const bool profiles =
      hooks_.profiles_host && row.step >= std::min<std::int64_t>(1, iterations_ - 1);
  if (profiles) device_.host_profile().resume();
  model_.decoder.adapters().begin_step(row.step);
  const double loss_scale = model_.scaler == nullptr ? 1 : model_.scaler->scale();
  NB_TRY(const StepOutcome outcome, task_.update(point, row));
  if (outcome.is_skipped)
    note(fmt::format("step {}: the gradient is not finite: step skipped, loss scale {} → {}",
                     row.step, loss_scale, model_.scaler->scale()));
  if (profiles) device_.host_profile().stop();
  device_.trace().end();
  const bool is_finite = std::isfinite(outcome.loss) && std::isfinite(outcome.grad_norm);
  if (!is_finite && !outcome.is_skipped && !goes_on_with_nan()) {
    return run_error(fmt::format(
        "step {}: the {} is not finite on {}{}; lower the learning rates, or choose numerics with "
        "more range",
        row.step, std::isfinite(outcome.loss) ? "gradient" : "loss", device_.profile().name(),
        where_not_finite(outcome, model_.decoder)));
  }
  if (leads()) check_replica(row.step);
  if (model_.ranks != nullptr) {
    for (const auto& [kind, bytes] : model_.ranks->take_sent_bytes())
      progress_.sent_bytes[kind] += bytes;
    progress_.pipeline.add(model_.ranks->take_pipeline_facts());
  }
  if (!outcome.is_skipped || std::isfinite(outcome.loss))
    progress_.loss_average =
        kLossAverage * progress_.loss_average + (1 - kLossAverage) * outcome.loss;
  progress_.train_time_ns += outcome.time_ns;
  row.train_loss = outcome.loss;
  row.lr_multiplier = point.lr_multiplier;
  row.grad_norm = outcome.grad_norm;
  if (model_.scaler != nullptr) row.grad_scale = loss_scale;
  row.tokens = static_cast<double>(outcome.tokens);
  row.batch_hash = outcome.batch_hash;
  row.step_time_ns = static_cast<double>(outcome.time_ns);
  row.throughput_tok_s =
      1e9 * static_cast<double>(outcome.tokens) / static_cast<double>(outcome.time_ns);
  row.peak_memory_bytes = static_cast<double>(device_.memory().peak_allocated_bytes);
  return {};
}

// Weights that are not the same in all copies.
std::vector<std::string> Trainer::differing() const {
  if (model_.ranks != nullptr) return model_.ranks->differing();
  return differing_parameters(model_.decoder, model_.replica->decoder());
}

// Says which weights have come apart, whenever there are more of them.
void Trainer::check_replica(std::int64_t step) {
  if (model_.replica == nullptr && model_.ranks == nullptr) return;
  const auto names = differing();
  if (names.size() <= apart_) return;
  apart_ = names.size();
  if (!progress_.apart_since) progress_.apart_since = step + 1;
  note(fmt::format("step {}: the replicas differ in {}: their gradients are not averaged", step + 1,
                   fmt::join(names, ", ")));
}

Result<void> Trainer::save(bool is_finished) {
  progress_.is_finished = is_finished;
  if (model_.ranks != nullptr) model_.ranks->exchange_state();
  if (!leads()) return {};
  const std::filesystem::path path = checkpoint_path(folder_, progress_.step);
  if (model_.ranks != nullptr && model_.ranks->shared_state() != nullptr)
    model_.ranks->shared_state()->gather();
  NB_TRY_VOID(save_checkpoint(path, model_.decoder, whole_optimizers(model_), progress_, state(),
                              identity_),
              fmt::format("checkpoint of step {}", progress_.step));
  prune_checkpoints(folder_, progress_.step, kKeptCheckpoints, loop_.keep_steps);
  if (hooks_.on_checkpoint) hooks_.on_checkpoint(progress_.step);
  return {};
}

Result<TrainResult> Trainer::run(const std::function<Result<void>()>& start) {
  remove_torn_checkpoints(folder_);
  NB_TRY(const bool is_resumed, resume());
  if (is_resumed) {
    retell();
  } else {
    NB_TRY_VOID(start());
  }
  if (progress_.is_finished) return leads() ? result() : TrainResult();
  if (model_.ranks != nullptr) {
    model_.ranks->share();
    if (const std::string text = model_.ranks->unshared(); !text.empty()) note(text);
  }
  model_.observer = hooks_.observer;
  model_.disturbance = hooks_.disturbance;
  const std::string_view stage = name(task_.stage());
  Progress bar(fmt::format("{} {}", stage == "base" ? "train" : stage, device_.profile().name()),
               iterations_, "step");
  for (;; ++progress_.step) {
    const std::int64_t step = progress_.step;
    const bool is_last = step == iterations_;
    const bool is_there = is_resumed && step == resumed_from_;
    const bool is_wanted = (step > 0 && is_due(loop_.checkpoint_every, step)) || is_kept(step);
    if (!is_last && !is_there && is_wanted) {
      disturb(StepPart::kSave);
      NB_TRY_VOID(save(false));
    }
    StepRow row;
    row.step = step;
    if (leads() && (is_last || is_due(loop_.eval_every, step))) {
      disturb(StepPart::kEvaluate);
      NB_TRY_VOID(validate(row));
    }
    if (leads() && loop_.sample_every > 0 &&
        (is_last || (step > 0 && is_due(loop_.sample_every, step)))) {
      sample(step);
    }
    if (!is_last) NB_TRY_VOID(update(row));
    if (!leads()) {
      if (is_last) break;
      continue;
    }
    tell(row);
    bar.update(std::min(step + 1, iterations_),
               row.reward       ? fmt::format("reward {:.3f}", *row.reward)
               : row.train_loss ? fmt::format("loss {:.4f}", *row.train_loss)
                                : "");
    if (is_last) break;
  }
  NB_TRY_VOID(save(true));
  return leads() ? result() : TrainResult();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

TrainResult Trainer::result() const {
  TrainResult out;
  out.stage = task_.stage();
  out.config = model_.decoder.config();
  out.adamw_denominator = model_.adamw_denominator;
  out.iterations = iterations_;
  out.param_count = param_count(out.config);
  for (const Parameter& p : model_.decoder.adapters().parameters())
    out.adapter_param_count += p.value.shape()[0] * p.value.shape()[1];
  const auto& lora = model_.decoder.adapters().settings();
  out.flops_per_token =
      lora ? lora_flops_per_token(out.config, *lora) : flops_per_token(out.config);
  std::vector<double> times, rates;
  for (const StepRow& row : progress_.rows) {
    if (row.train_loss) out.final_loss = *row.train_loss;
    if (row.step_time_ns) times.push_back(*row.step_time_ns);
    if (row.throughput_tok_s) rates.push_back(*row.throughput_tok_s);
    if (row.tokens) out.tokens += static_cast<std::int64_t>(*row.tokens);
    if (row.val_bpb)
      out.min_val_bpb = std::min(out.min_val_bpb.value_or(*row.val_bpb), *row.val_bpb);
    if (row.val_bpb || row.val_loss || row.val_accuracy) out.last_validation = row;
  }
  out.smoothed_loss =
      progress_.loss_average / (1 - pm::pow(kLossAverage, static_cast<double>(iterations_)));
  out.step_time_ns = median(times);
  out.throughput_tok_s = median(rates);
  if (const auto tokens = task_.tokens_per_step()) {
    out.tokens = iterations_ * *tokens;
    out.throughput_tok_s = 1e9 * static_cast<double>(*tokens) / out.step_time_ns;
  }
  out.mfu =
      model_flop_utilization(out.flops_per_token, out.throughput_tok_s,
                             model_.ranks == nullptr ? 1 : model_.ranks->size(), device_.profile());
  out.train_time_ns = static_cast<double>(progress_.train_time_ns);
  const MemoryStats memory = device_.memory();
  out.peak_allocated_bytes = memory.peak_allocated_bytes;
  out.peak_reserved_bytes = memory.peak_reserved_bytes;
  if (model_.replica != nullptr || model_.ranks != nullptr)
    out.replica_mismatch = std::ssize(differing());
  out.sent_bytes = progress_.sent_bytes;
  if (model_.ranks != nullptr) out.peaks_of_ranks = model_.ranks->peaks_of_stages();
  out.sent_bytes_of_ranks = progress_.pipeline.sent_bytes;
  if (!out.sent_bytes_of_ranks.empty())
    out.bubble = progress_.pipeline.bubble / static_cast<double>(iterations_);
  out.replica_mismatch_step = progress_.apart_since;
  out.steps = progress_.rows;
  out.samples = progress_.samples;
  out.checkpoint = checkpoint_path(folder_, iterations_);
  out.resumed_from_step = resumed_from_;
  return out;
}

}  // namespace

Result<TrainResult> run_training(StageTask& task, TrainedModel& model, const Tokenizer& tokenizer,
                                 const Json& identity, const TrainLoop& loop,
                                 const std::function<Result<void>()>& start,
                                 const std::filesystem::path& folder, const TrainHooks& hooks) {
  NB_CHECK(model.decoder.device().executes(),
           "[train] needs a device that executes; predict() is for dry ones");
  return Trainer(task, model, tokenizer, identity, loop, folder, hooks).run(start);
}

}  // namespace nb
