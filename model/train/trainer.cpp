#include "model/train/trainer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "harness/base/progress.hpp"
#include "model/data/loader.hpp"
#include "model/decoder/presets.hpp"
#include "model/device/device.hpp"
#include "model/optim/groups.hpp"
#include "model/optim/schedules.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/dry_step.hpp"
#include "model/train/mfu.hpp"
#include "model/train/samples.hpp"
#include "model/train/step.hpp"
#include "model/train/validation.hpp"

namespace nb {
namespace {

constexpr std::size_t kKeptCheckpoints = 2;
constexpr double kLossAverage = 0.9;  // nanochat's logged loss

class Trainer {
 public:
  Trainer(const TrainSettings& settings, const DecoderConfig& config, const BatchPlan& batches,
          Device& device, const TrainData& data, std::filesystem::path folder,
          const TrainHooks& hooks)
      : settings_(settings),
        device_(device),
        data_(data),
        folder_(std::move(folder)),
        hooks_(hooks),
        iterations_(planned_iterations(settings, config)),
        plan_{batches.accumulation_steps, settings.device_batch_size, settings.sequence_len,
              settings.grad_clip},
        validation_start_(std::make_unique<Json>(data.validation.state())),
        identity_(std::make_unique<Json>(identity(config))),
        decoder_(config, device),
        optimizers_(make_optimizers(decoder_, {settings.embedding_lr, settings.unembedding_lr,
                                               settings.matrix_lr, settings.weight_decay})) {}

  Result<TrainResult> run();

 private:
  Json identity(const DecoderConfig& config) const;
  Result<bool> resume();
  void retell() const;
  Result<void> validate(StepRow& row);
  void sample(std::int64_t step);
  Result<void> update(StepRow& row);
  void tell(const StepRow& row);
  Result<void> save(bool is_finished);
  TrainResult result() const;
  bool is_due(std::int64_t every, std::int64_t step) const {
    return every > 0 && step % every == 0;
  }
  bool is_kept(std::int64_t step) const {
    const auto& kept = settings_.keep_steps;
    return std::find(kept.begin(), kept.end(), step) != kept.end();
  }
  void note(const std::string& text) const {
    if (hooks_.on_note) hooks_.on_note(text);
  }

  const TrainSettings& settings_;
  Device& device_;
  const TrainData& data_;
  std::filesystem::path folder_;
  const TrainHooks& hooks_;
  std::int64_t iterations_;
  StepPlan plan_;
  std::unique_ptr<Json> validation_start_;
  std::unique_ptr<Json> identity_;
  Decoder decoder_;
  std::vector<std::unique_ptr<Optimizer>> optimizers_;
  RunProgress progress_;
  std::int64_t resumed_from_ = 0;
};

// Everything that a resumed run must share with the one that wrote the checkpoint.
Json Trainer::identity(const DecoderConfig& config) const {
  TrainSettings copy = settings_;
  Json settings = hashed_fields(copy.fields());
  settings.erase("keep_steps");  // which of them stay is nothing that a checkpoint could tell
  Json policy = Json::object();
  const DeviceProfile& profile = device_.profile();
  const Use uses[] = {Use::kTrain};
  for (const PolicyEntry& entry :
       entries_in(profile.numerics_card, profile.numerics, uses, /*cards=*/1))
    policy[entry.name] = entry.value;
  return {{"settings", settings},
          {"model", print_struct(config)},
          {"device", device_.profile().name()},
          {"numerics", device_.profile().numerics_of},
          {"policy", policy},
          {"tokenizer", data_.tokenizer.hash()},
          {"validation_data", *validation_start_}};
}

// Newest whole checkpoint of this run, if any; damaged ones are passed over.
Result<bool> Trainer::resume() {
  for (const std::filesystem::path& path : list_checkpoints(folder_)) {
    const auto file = SafetensorsFile::open(path);
    if (!file) {
      note(file.error().message + "; skipped");
      continue;
    }
    NB_TRY_VOID(check_identity(*file, *identity_));
    NB_TRY(LoadedRun loaded, load_checkpoint(*file, decoder_, optimizers_));
    NB_TRY_VOID(data_.train.restore(*loaded.loader), path.string());
    progress_ = std::move(loaded.progress);
    resumed_from_ = progress_.step;
    note(fmt::format("resumed at step {} of {} from {}", progress_.step, iterations_,
                     path.string()));
    return true;
  }
  return false;
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
  const std::int64_t batch_tokens = plan_.rows * plan_.length;
  const ValidationPlan plan = {std::max<std::int64_t>(1, settings_.eval_tokens / batch_tokens),
                               plan_.rows, plan_.length};
  NB_TRY(row.val_bpb, validation_bits_per_byte(decoder_, data_.validation, *validation_start_,
                                               data_.tokenizer, plan));
  if (!std::isfinite(*row.val_bpb)) {
    return run_error(
        fmt::format("step {}: validation loss is not finite; lower the learning rates", row.step));
  }
  return {};
}

void Trainer::sample(std::int64_t step) {
  for (const std::string& prompt : sample_prompts()) {
    progress_.samples.push_back({step, prompt, sample_text(decoder_, data_.tokenizer, prompt)});
    if (hooks_.on_sample) hooks_.on_sample(progress_.samples.back());
  }
}

Result<void> Trainer::update(StepRow& row) {
  const LrSchedule schedule = {iterations_, settings_.warmup_ratio, settings_.warmdown_ratio,
                               settings_.final_lr_frac};
  const SchedulePoint point = {row.step, lr_multiplier(schedule, row.step),
                               muon_momentum(row.step)};
  if (row.step < device_.options().trace_steps) device_.trace().begin_step();
  const bool profiles =
      hooks_.profiles_host && row.step >= std::min<std::int64_t>(1, iterations_ - 1);
  if (profiles) device_.host_profile().resume();
  const StepOutcome outcome = run_step(decoder_, optimizers_, plan_, point,
                                       [&] { return data_.train.next(plan_.rows, plan_.length); });
  if (profiles) device_.host_profile().stop();
  device_.trace().end();
  if (!std::isfinite(outcome.loss) || !std::isfinite(outcome.grad_norm)) {
    return run_error(fmt::format(
        "step {}: the {} is not finite on {}; lower the learning rates, or choose numerics with "
        "more range",
        row.step, std::isfinite(outcome.loss) ? "gradient" : "loss", device_.profile().name()));
  }
  progress_.loss_average =
      kLossAverage * progress_.loss_average + (1 - kLossAverage) * outcome.loss;
  progress_.train_time_ns += outcome.time_ns;
  row.train_loss = outcome.loss;
  row.lr_multiplier = point.lr_multiplier;
  row.grad_norm = outcome.grad_norm;
  row.step_time_ns = static_cast<double>(outcome.time_ns);
  row.throughput_tok_s = 1e9 * static_cast<double>(settings_.total_batch_tokens) /
                         static_cast<double>(outcome.time_ns);
  row.peak_memory_bytes = static_cast<double>(device_.memory().peak_allocated_bytes);
  return {};
}

Result<void> Trainer::save(bool is_finished) {
  progress_.is_finished = is_finished;
  const std::filesystem::path path = checkpoint_path(folder_, progress_.step);
  NB_TRY_VOID(
      save_checkpoint(path, decoder_, optimizers_, progress_, data_.train.state(), *identity_),
      fmt::format("checkpoint of step {}", progress_.step));
  prune_checkpoints(folder_, kKeptCheckpoints, settings_.keep_steps);
  if (hooks_.on_checkpoint) hooks_.on_checkpoint(progress_.step);
  return {};
}

Result<TrainResult> Trainer::run() {
  remove_torn_checkpoints(folder_);
  decoder_.set_recompute(settings_.recompute.value_or(false));
  NB_TRY(const bool is_resumed, resume());
  if (is_resumed) {
    retell();
  } else {
    decoder_.init(settings_.seed);
  }
  if (progress_.is_finished) return result();
  Progress bar("train " + device_.profile().name(), iterations_, "step");
  for (;; ++progress_.step) {
    const std::int64_t step = progress_.step;
    const bool is_last = step == iterations_;
    const bool is_there = is_resumed && step == resumed_from_;
    const bool is_wanted = (step > 0 && is_due(settings_.checkpoint_every, step)) || is_kept(step);
    if (!is_last && !is_there && is_wanted) NB_TRY_VOID(save(false));
    StepRow row;
    row.step = step;
    if (is_last || is_due(settings_.eval_every, step)) NB_TRY_VOID(validate(row));
    if (settings_.sample_every > 0 &&
        (is_last || (step > 0 && is_due(settings_.sample_every, step)))) {
      sample(step);
    }
    if (!is_last) NB_TRY_VOID(update(row));
    tell(row);
    bar.update(std::min(step + 1, iterations_),
               row.train_loss ? fmt::format("loss {:.4f}", *row.train_loss) : "");
    if (is_last) break;
  }
  NB_TRY_VOID(save(true));
  return result();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

TrainResult Trainer::result() const {
  TrainResult out;
  out.config = decoder_.config();
  out.iterations = iterations_;
  out.tokens = iterations_ * settings_.total_batch_tokens;
  out.param_count = param_count(out.config);
  out.flops_per_token = flops_per_token(out.config);
  std::vector<double> times;
  bool has_validation = false;
  for (const StepRow& row : progress_.rows) {
    if (row.train_loss) out.final_loss = *row.train_loss;
    if (row.step_time_ns) times.push_back(*row.step_time_ns);
    if (row.val_bpb) {
      out.val_bpb = *row.val_bpb;
      out.min_val_bpb = has_validation ? std::min(out.min_val_bpb, out.val_bpb) : out.val_bpb;
      has_validation = true;
    }
  }
  out.smoothed_loss =
      progress_.loss_average / (1 - pm::pow(kLossAverage, static_cast<double>(iterations_)));
  out.step_time_ns = median(times);
  out.throughput_tok_s = 1e9 * static_cast<double>(settings_.total_batch_tokens) / out.step_time_ns;
  out.mfu = model_flop_utilization(out.flops_per_token, out.throughput_tok_s, 1, device_.profile());
  out.train_time_ns = static_cast<double>(progress_.train_time_ns);
  const MemoryStats memory = device_.memory();
  out.peak_allocated_bytes = memory.peak_allocated_bytes;
  out.peak_reserved_bytes = memory.peak_reserved_bytes;
  out.steps = progress_.rows;
  out.samples = progress_.samples;
  out.checkpoint = checkpoint_path(folder_, iterations_);
  out.resumed_from_step = resumed_from_;
  return out;
}

}  // namespace

Result<TrainResult> train(const TrainSettings& settings, Device& device, const TrainData& data,
                          const std::filesystem::path& folder, const TrainHooks& hooks) {
  NB_CHECK(device.executes(), "[train] needs a device that executes; predict() is for dry ones");
  NB_TRY_VOID(check_schedule(settings));
  NB_TRY(const BatchPlan batches, plan_batch(settings, 1));
  NB_TRY(const DecoderConfig config, decoder_config(settings, data.tokenizer.vocab_size()));
  NB_TRY_VOID(check_keep_steps(settings, planned_iterations(settings, config)));
  if (device.numerics().loss_scaling != LossScaling::kNone) {
    return bad_input(
        fmt::format("{} asks for loss scaling, which training does not support yet; use a device "
                    "with bf16 or fp32 storage",
                    device.profile().name()));
  }
  try {
    Trainer trainer(settings, config, batches, device, data, folder, hooks);
    return trainer.run();
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
