#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/gzip.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/table.hpp"
#include "harness/microbench/peak_rate.hpp"
#include "harness/run/checkpoint_digest.hpp"
#include "harness/run/device_card.hpp"
#include "harness/run/planted_faults.hpp"
#include "harness/run/stage_metrics.hpp"
#include "harness/run/stages.hpp"
#include "harness/run/step_profile.hpp"
#include "harness/run/training_history.hpp"
#include "model/collectives/processes.hpp"
#include "model/data/chat/conversation_set.hpp"
#include "model/data/loader.hpp"
#include "model/data/tasks/conversation_json.hpp"
#include "model/data/token_shards.hpp"
#include "model/device/device.hpp"
#include "model/kernels/simd_level.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/train/base_stage.hpp"
#include "model/train/checkpoint.hpp"
#include "model/train/dpo_stage.hpp"
#include "model/train/mid_stage.hpp"
#include "model/train/rl_stage.hpp"
#include "model/train/safetensors.hpp"
#include "model/train/sft_stage.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/series.hpp"

namespace nb {
namespace {

// Listens to the trainer: steps.csv, samples.jsonl, trace.json.gz and log. The trainer tells
// everything from the first step on again after a resume, so files are rewritten from the start.
class Recorder {
 public:
  static Result<Recorder> create(const StageContext& context, Device& device, TrainingStage stage) {
    std::vector<std::string> columns = step_columns(stage);
    if (device.numerics().loss_scaling != LossScaling::kNone) columns.emplace_back("grad_scale");
    NB_TRY(SeriesWriter series,
           SeriesWriter::open(context.folder / "steps.csv", columns, /*first_step=*/0));
    return Recorder(context, device, stage, std::move(series));
  }

  TrainHooks hooks() {
    TrainHooks hooks;
    hooks.on_step = [this](const StepRow& row) {
      std::vector<std::optional<double>> values = step_values(row, stage_);
      if (device_.numerics().loss_scaling != LossScaling::kNone) values.push_back(row.grad_scale);
      keep(series_.append(row.step, values));
    };
    hooks.on_sample = [this](const SampleText& sample) {
      Json line{{"step", sample.step}, {"prompt", sample.prompt}, {"text", sample.text}};
      samples_ += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    };
    hooks.on_note = context_.log;
    hooks.on_damage = context_.warn;
    hooks.profiles_host = context_.profiles_host;
    hooks.on_checkpoint = [this](std::int64_t step) {
      keep(series_.flush());
      context_.log(fmt::format("checkpoint at step {}", step));
    };
    return hooks;
  }

  Result<void> finish() {
    keep(series_.flush());
    NB_TRY_VOID(std::move(error_));
    NB_TRY_VOID(write_file(context_.folder / "samples.jsonl", samples_));
    const Json trace = device_.trace().chrome_json(device_.profile().name());
    return write_file(context_.folder / "trace.json.gz", gzip(trace.dump()));
  }

 private:
  Recorder(const StageContext& context, Device& device, TrainingStage stage, SeriesWriter series)
      : context_(context), device_(device), stage_(stage), series_(std::move(series)) {}
  void keep(Result<void> result) {
    if (!result && error_) error_ = std::move(result);
  }

  const StageContext& context_;
  Device& device_;
  TrainingStage stage_;
  SeriesWriter series_;
  std::string samples_;
  Result<void> error_;  // the first
};

Result<void> write_profile(const StageContext& context, const TrainResult& result, Device& device) {
  StepProfile profile = step_profile(device.host_profile());
  profile.simd = name(simd_level());
  profile.threads = threads();
  // Right after the training, so that both met the same load.
  profile.peak_gflop_s = peak_rate_gflop_s(device.numerics().matmul_inputs);
  NB_TRY_VOID(write_json(context.folder / kProfileJson, to_json(profile)));
  return write_file(
      context.folder / kProfileSvg,
      flame_svg(profile,
                fmt::format("{}: d{}, {} tokens per step", context.node.name, result.config.n_layer,
                            with_commas(result.tokens / result.iterations))));
}

// What the stage's validation says of the last weights.
void add_validation(const TrainResult& result, std::int64_t n, Record& record) {
  auto& metrics = record.metrics;
  const StepRow& last = result.last_validation;
  if (last.val_bpb)
    metrics.push_back(counted(metric::kValBpb, *last.val_bpb, "bit/byte", Direction::kLower, n));
  if (result.min_val_bpb)
    metrics.push_back(
        counted("min_val_bpb", *result.min_val_bpb, "bit/byte", Direction::kLower, n));
  if (last.val_loss)
    metrics.push_back(counted("val_loss", *last.val_loss, "nat", Direction::kLower, n));
  if (last.val_pair_accuracy)
    metrics.push_back(
        counted("val_pair_accuracy", *last.val_pair_accuracy, "1", Direction::kHigher, n));
  if (last.val_margin)
    metrics.push_back(counted("val_margin", *last.val_margin, "nat", Direction::kHigher, n));
  if (last.val_accuracy)
    metrics.push_back(counted("val_accuracy", *last.val_accuracy, "1", Direction::kHigher, n));
  if (last.val_pass_at_k)
    metrics.push_back(counted("val_pass_at_k", *last.val_pass_at_k, "1", Direction::kHigher, n));
}

void add_metrics(const TrainResult& result, std::int64_t validated, const Device& device,
                 Record& record) {
  const std::int64_t n = result.iterations;
  auto& metrics = record.metrics;
  add_validation(result, validated, record);
  metrics.push_back(counted(metric::kTrainLoss, result.final_loss, "nat", Direction::kLower, 1));
  metrics.push_back(
      counted("smoothed_train_loss", result.smoothed_loss, "nat", Direction::kLower, n));
  if (result.replica_mismatch)
    metrics.push_back(counted("replica_mismatch", static_cast<double>(*result.replica_mismatch),
                              "1", Direction::kLower));
  if (result.replica_mismatch_step)
    metrics.push_back(
        counted("replica_mismatch_step", static_cast<double>(*result.replica_mismatch_step), "1"));
  metrics.push_back(counted(metric::kTokens, static_cast<double>(result.tokens), "token"));
  metrics.push_back(counted("parameters", static_cast<double>(result.param_count), "1"));
  if (result.adapter_param_count > 0)
    metrics.push_back(
        counted("adapter_parameters", static_cast<double>(result.adapter_param_count), "1"));
  metrics.push_back(
      counted("flops_per_token", static_cast<double>(result.flops_per_token), "FLOP/token"));
  metrics.push_back(simulated(metric::kStepTime, result.step_time_ns, "ns", Direction::kLower, n));
  metrics.push_back(
      simulated(metric::kThroughput, result.throughput_tok_s, "tok/s", Direction::kHigher, n));
  metrics.push_back(simulated(metric::kMfu, result.mfu, "1", Direction::kHigher, n));
  metrics.push_back(
      simulated(metric::kTrainTime, result.train_time_ns, "ns", Direction::kLower, n));
  metrics.push_back(simulated(metric::kPeakMemory, static_cast<double>(result.peak_allocated_bytes),
                              "byte", Direction::kLower));
  metrics.push_back(simulated("peak_reserved_bytes",
                              static_cast<double>(result.peak_reserved_bytes), "byte",
                              Direction::kLower));
  metrics.push_back(
      simulated("kernels", static_cast<double>(device.counters().kernels), "1", Direction::kLower));
}

// Of the stages of a pipeline, which are not alike.
void add_stages(const TrainResult& result, Record& record) {
  const auto add = [&](const char* what, std::size_t rank, double bytes) {
    record.metrics.push_back(
        simulated(fmt::format("{}_rank_{}", what, rank), bytes, "byte", Direction::kLower));
  };
  for (std::size_t rank = 0; rank < result.sent_bytes_of_ranks.size(); ++rank)
    add("sent_bytes", rank, result.sent_bytes_of_ranks[rank]);
  for (std::size_t rank = 0; rank < result.peaks_of_ranks.size(); ++rank)
    add("peak_allocated_bytes", rank, static_cast<double>(result.peaks_of_ranks[rank]));
  if (result.bubble)
    record.metrics.push_back(simulated("pipeline_bubble", *result.bubble, "1", Direction::kLower));
}

// A training under way: who trains it and what its record says of its data.
struct Trained {
  TrainResult result;
  std::int64_t validated = 0;  // tokens or batches of a validation
};

Result<Trained> train_base(const TrainSettings& settings, const StageContext& context,
                           const Tokenizer& tokenizer, Device& device, const TrainHooks& hooks,
                           const PortDefects& defects, const std::optional<MeshSettings>& mesh,
                           Record& record) {
  const fs::path data = context.parent(NodeKind::kShards).folder;
  NB_TRY(TokenShard train_shard, TokenShard::open(data / "train.tokens"));
  NB_TRY(TokenShard val_shard, TokenShard::open(data / "val.tokens"));
  NB_TRY(TokenLoader train_loader, TokenLoader::create({&train_shard, 1}));
  NB_TRY(TokenLoader val_loader, TokenLoader::create({&val_shard, 1}));
  record.comparability["val_data"] = val_shard.sha256();
  record.comparability["val_tokens"] = std::to_string(settings.eval_tokens);
  NB_TRY(TrainResult result, train(settings, device, {train_loader, val_loader, tokenizer},
                                   context.folder, hooks, defects, mesh));
  return Trained{std::move(result), settings.eval_tokens};
}

// The conversations of a file as `make` renders them: for reading, or as questions.
template <class Make>
auto read_set(const StageContext& context, const char* file, const Tokenizer& tokenizer, Make make)
    -> decltype(make(tokenizer, std::vector<Conversation>(), kMaxConversationTokens, "")) {
  const fs::path path = context.parent(NodeKind::kConversations).folder / file;
  NB_TRY(const std::vector<Conversation> conversations, read_conversations(path));
  return make(tokenizer, conversations, kMaxConversationTokens, path.string());
}

Result<Trained> train_on_questions(const RlSettings& settings, const StageContext& context,
                                   const Tokenizer& tokenizer, Device& device,
                                   const ParentCheckpoint& parent, const TrainHooks& hooks,
                                   const PortDefects& defects,
                                   const std::optional<MeshSettings>& mesh, Record& record) {
  NB_TRY(const QuestionSet train, read_set(context, "train.jsonl", tokenizer, questions_of));
  NB_TRY(const QuestionSet validation,
         read_set(context, "validation.jsonl", tokenizer, questions_of));
  record.comparability["val_data"] = validation.sha256;
  record.comparability["val_questions"] = std::to_string(settings.eval_examples);
  record.comparability["val_samples"] = std::to_string(settings.eval_samples);
  NB_TRY(TrainResult result, train_rl(settings, device, {train, validation, tokenizer}, parent,
                                      context.folder, hooks, defects, mesh));
  return Trained{std::move(result),
                 std::min(settings.eval_examples, std::ssize(validation.questions))};
}

Result<PreferenceSet> read_pairs(const StageContext& context, const char* file,
                                 const Tokenizer& tokenizer) {
  const fs::path path = context.parent(NodeKind::kConversations).folder / file;
  NB_TRY(const std::vector<Preference> pairs, read_preferences(path));
  return render_preferences(tokenizer, pairs, kMaxConversationTokens, path.string());
}

Result<Trained> train_on_pairs(const DpoSettings& settings, const StageContext& context,
                               const Tokenizer& tokenizer, Device& device,
                               const ParentCheckpoint& parent, const TrainHooks& hooks,
                               const PortDefects& defects, const std::optional<MeshSettings>& mesh,
                               Record& record) {
  NB_TRY(const PreferenceSet train, read_pairs(context, "train.jsonl", tokenizer));
  NB_TRY(const PreferenceSet validation, read_pairs(context, "validation.jsonl", tokenizer));
  const std::int64_t validated = settings.eval_batches * settings.device_batch_size;
  record.comparability["val_data"] = validation.sha256;
  record.comparability["val_pairs"] = std::to_string(validated);
  NB_TRY(TrainResult result, train_dpo(settings, device, {train, validation, tokenizer}, parent,
                                       context.folder, hooks, defects, mesh));
  return Trained{std::move(result), validated};
}

// MID, SFT, DPO or RL, from the weights of the stage before.
Result<Trained> train_on_conversations(const TrainWork& work, const StageContext& context,
                                       const Tokenizer& tokenizer, Device& device,
                                       const TrainHooks& hooks, const PortDefects& defects,
                                       Record& record) {
  const ParentRun& before = context.parent(NodeKind::kTrain);
  NB_TRY(const std::string name,
         checkpoint_file(before.record, std::nullopt, before.folder.string()));
  NB_TRY(const SafetensorsFile file, SafetensorsFile::open(before.folder / name));
  NB_TRY(const std::string weights, weights_digest(file));
  NB_TRY(record.checkpoint, training_history(file, &before.record));
  record.subject[metric::kParentWeights] = weights;
  const ParentCheckpoint parent{file, weights};
  const std::optional<MeshSettings>& mesh = work.device.mesh;
  if (work.rl)
    return train_on_questions(*work.rl, context, tokenizer, device, parent, hooks, defects, mesh,
                              record);
  if (work.dpo)
    return train_on_pairs(*work.dpo, context, tokenizer, device, parent, hooks, defects, mesh,
                          record);
  NB_TRY(const ConversationSet train,
         read_set(context, "train.jsonl", tokenizer, render_conversations));
  NB_TRY(const ConversationSet validation,
         read_set(context, "validation.jsonl", tokenizer, render_conversations));
  record.comparability["val_data"] = validation.sha256;
  const ChatData data{train, validation, tokenizer};
  Trained trained;
  if (work.mid) {
    record.comparability["val_tokens"] = std::to_string(work.mid->eval_tokens);
    trained.validated = work.mid->eval_tokens;
    NB_TRY(trained.result,
           train_mid(*work.mid, device, data, parent, context.folder, hooks, defects, mesh));
  } else {
    const std::int64_t amount = work.sft->packed
                                    ? work.sft->packed->eval_tokens
                                    : work.sft->eval_batches * work.sft->device_batch_size;
    record.comparability[work.sft->packed ? "val_tokens" : "val_conversations"] =
        std::to_string(amount);
    trained.validated = amount;
    NB_TRY(trained.result,
           train_sft(*work.sft, device, data, parent, context.folder, hooks, defects, mesh));
  }
  return trained;
}

}  // namespace

Result<void> run_train(const TrainWork& work, const StageContext& context, Record& record) {
  NB_TRY(const ResolvedDevice resolved, resolve_device(work.device, "device"));
  NB_TRY(const Tokenizer tokenizer,
         Tokenizer::load(context.parent(NodeKind::kTokenizer).folder / "tokenizer.json"));
  const TrainingStage stage = work.kind();
  const PortDefects defects = tell_defects(context);
  const auto cards = work.device.mesh ? static_cast<int>(work.device.mesh->ranks()) : 1;
  Device device(resolved.profile, ExecutionMode::kExecute, {.ranks = cards});
  NB_TRY(Recorder recorder, Recorder::create(context, device, stage));
  const auto start = std::chrono::steady_clock::now();
  NB_TRY(const auto faults, PlantedFaults::create(work, context, device, tokenizer.vocab_size()));
  TrainHooks hooks = recorder.hooks();
  Trained trained;
  const auto run = [&]() -> Result<void> {
    NB_TRY(trained, work.base ? train_base(*work.base, context, tokenizer, device, hooks, defects,
                                           work.device.mesh, record)
                              : train_on_conversations(work, context, tokenizer, device, hooks,
                                                       defects, record));
    return {};
  };
  if (faults != nullptr) hooks.disturbance = faults->disturbance();
  NB_TRY_VOID(faults != nullptr ? faults->watch(run) : run());
  // What is recorded is the leading process's.
  if (const Processes* processes = processes_of_job(); processes && !processes->leads()) return {};
  const TrainResult& result = trained.result;
  const double host_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  NB_TRY_VOID(recorder.finish());
  if (context.profiles_host) NB_TRY_VOID(write_profile(context, result, device));
  // The others were for going on.
  prune_checkpoints(context.folder, result.iterations, /*keep=*/1, work.keep_steps());

  // The reference compiles the model in BASE, MID and packed SFT alone.
  const bool is_tuned = (work.sft && !work.sft->packed) || work.dpo || work.rl;
  std::vector<Use> uses = {is_tuned ? Use::kTune : Use::kTrain};
  if (work.rl) uses.push_back(Use::kGenerate);
  describe_device(resolved, uses, cards, record);
  (*record.settings)["effective"] = {{"iterations", result.iterations},
                                     {"adamw_denominator", name(result.adamw_denominator)},
                                     {"config", print_struct(result.config)}};
  add_metrics(result, trained.validated, device, record);
  for (Metric& metric : record.metrics)
    if (metric.value && !std::isfinite(*metric.value)) {
      metric.value.reset();
      metric.reason_if_null = "not finite";
    }
  if (cards > 1)
    record.metrics.push_back(simulated("link_bytes",
                                       static_cast<double>(device.counters().link_bytes), "byte",
                                       Direction::kLower));
  for (const auto& [kind, bytes] : result.sent_bytes)
    record.metrics.push_back(simulated("sent_bytes_" + kind, bytes, "byte", Direction::kLower));
  add_stages(result, record);
  // Of this process alone: a resumed run has trained the steps before elsewhere.
  record.host_metrics.push_back(on_host("train_host_time_s", host_s, "s", Direction::kLower,
                                        result.iterations - result.resumed_from_step));
  record.comparability["tokenizer"] = tokenizer.hash();
  const std::string checkpoint =
      result.checkpoint.lexically_relative(context.folder).generic_string();
  NB_TRY(const SafetensorsFile file, SafetensorsFile::open(result.checkpoint));
  NB_TRY(record.subject["weights"], weights_digest(file));
  (*record.settings)["effective"]["checkpoint"] = checkpoint;
  record.artifacts = {{"steps.csv", ""}, {"samples.jsonl", ""}, {checkpoint, ""}};
  if (work.device.planted.keeps_digests()) record.artifacts[kRankTensors] = "";
  if (work.trains_adapters()) record.artifacts[kAdapterFile] = "";
  for (const std::int64_t step : work.keep_steps()) {
    const fs::path kept = checkpoint_path(context.folder, step);
    // A resumed run did not write it itself: nothing damaged gets a digest.
    NB_TRY(const SafetensorsFile whole, SafetensorsFile::open(kept), "start over with --fresh");
    record.artifacts[kept.lexically_relative(context.folder).generic_string()] = "";
  }
  record.host_artifacts = {{"trace.json.gz", ""}};  // its steps depend on where a run was resumed
  return {};
}

}  // namespace nb
