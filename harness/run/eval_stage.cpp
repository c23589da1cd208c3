#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "evals/evaluate.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/progress.hpp"
#include "harness/faults/faults.hpp"
#include "harness/run/checkpoint_digest.hpp"
#include "harness/run/device_card.hpp"
#include "harness/run/stages.hpp"
#include "model/device/device.hpp"
#include "model/engine/gpt_language_model.hpp"
#include "model/gpt/gpt.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "model/train/checkpoint.hpp"
#include "results/items.hpp"

namespace nb {
namespace {

Result<EvalContext> make_context(const EvalWork& work, const StageContext& context) {
  EvalContext eval;
  eval.settings = work.evaluation.settings;
  eval.data_dir = context.data_dir;
  if (work.microworld) eval.microworld = *work.microworld;
  if (!work.faults.empty()) {
    NB_TRY(std::vector<Fault> faults, parse_faults(work.faults, "fault"));
    eval.fault = scorer_faults(std::move(faults));
    context.log(fmt::format("planted fault: {}", fmt::join(work.faults, ", ")));
  }
  return eval;
}

// One bar a task.
class TaskProgress {
 public:
  explicit TaskProgress(std::string label) : label_(std::move(label)) {}
  void operator()(std::string_view task, std::int64_t done, std::int64_t total) {
    if (task != task_) {
      task_ = task;
      bar_ = std::make_unique<Progress>(label_ + " " + task_, total, "item");
    }
    bar_->update(done);
  }

 private:
  std::string label_;
  std::string task_;
  std::unique_ptr<Progress> bar_;
};

Result<fs::path> checkpoint_of(const ParentRun& train) {
  for (const auto& [file, digest] : train.record.artifacts)
    if (file.ends_with(".safetensors")) return train.folder / file;
  return run_error(fmt::format("{}: lists no checkpoint", train.folder.string()));
}

}  // namespace

Result<void> run_eval(const EvalWork& work, const StageContext& context, Record& record) {
  NB_TRY(const ResolvedDevice resolved, resolve_device(work.device, "device"));
  const ParentRun& trained = context.parent(NodeKind::kTrain);
  NB_TRY(const Tokenizer tokenizer,
         Tokenizer::load(context.parent(NodeKind::kTokenizer).folder / "tokenizer.json"));
  NB_TRY(const fs::path checkpoint, checkpoint_of(trained));
  NB_TRY(EvalContext eval, make_context(work, context));

  Device device(resolved.profile, ExecutionMode::kExecute);
  NB_TRY(const GptConfig config, read_model_config(checkpoint));
  Gpt gpt(config, device);
  NB_TRY_VOID(load_weights(checkpoint, gpt));
  ScoreBatching batching;
  batching.max_rows = work.evaluation.batch_size;
  GptLanguageModel model(gpt, tokenizer, batching);

  TaskProgress progress(context.node.name);
  eval.progress = std::ref(progress);
  NB_TRY(const std::vector<EvalResult> results, evaluate(eval, model));

  describe_device(resolved, record);
  record.trained_on = trained.record.device;
  NB_TRY(record.subject["weights"], weights_digest(checkpoint));
  add_to_record(results, record);
  for (const EvalResult& result : results) {
    if (result.items.empty()) continue;
    const std::string file = items_file(result.task);
    NB_TRY_VOID(write_items(context.folder / file, result.items));
    record.items[result.task] = file;
    record.artifacts[file] = "";
  }
  return {};
}

}  // namespace nb
