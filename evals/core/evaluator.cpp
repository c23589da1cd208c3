#include "evals/core/evaluator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "evals/base/eval_metrics.hpp"
#include "evals/core/bundle.hpp"
#include "evals/core/grade.hpp"
#include "evals/core/items.hpp"
#include "evals/core/microworld.hpp"
#include "evals/core/own_tasks.hpp"
#include "evals/core/prompt.hpp"
#include "evals/core/spans.hpp"
#include "evals/data/manifest.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// In percent, of choosing at random among each item's choices.
double chance_of(std::span<const CoreItem> items) {
  double sum = 0;
  for (const CoreItem& item : items)
    if (!item.choices.empty()) sum += 1.0 / static_cast<double>(item.choices.size());
  return 100.0 * sum / static_cast<double>(items.size());
}

Result<CoreTaskData> own_task_data(const CoreTask& task, const EvalContext& context) {
  NB_TRY(OwnRows rows, read_own_rows(task));
  const auto before = context.file_digests.find(task.id);
  if (before != context.file_digests.end() && before->second != rows.digest)
    return bad_input(
        fmt::format("{}: the task or its rows in {} changed after this evaluation began; give the "
                    "command again",
                    task.id, task.dataset));
  const double chance = chance_of(rows.items);
  return CoreTaskData{std::move(rows.items), chance, std::move(rows.digest)};
}

}  // namespace

Result<CoreTaskData> load_core_task(const CoreTask& task, const EvalContext& context) {
  if (is_microworld(task)) return microworld_task_data(task, context.microworld);
  if (is_own(task)) return own_task_data(task, context);
  CoreTaskData data;
  data.baseline_percent = context.settings.baselines == "v2" ? task.baseline_v2 : task.baseline_v1;
  NB_TRY(const ResolvedFile file, resolve(data_manifest(), task.dataset, context.data_dir),
         std::string(task.id));
  NB_TRY(data.items, read_core_items(file.path, task.type), std::string(task.id));
  return data;
}

Result<std::unique_ptr<Evaluator>> load_core_evaluator(const CoreTask& task,
                                                       const EvalContext& context) {
  if (!task.core_label.empty()) {
    NB_TRY(const auto bundle, read_core_bundle(context.data_dir));
    if (bundle) NB_TRY_VOID(check_against_bundle(task, *bundle));
  }
  NB_TRY(CoreTaskData data, load_core_task(task, context));
  return CoreEvaluator::create(task, std::move(data), context);
}

Result<std::unique_ptr<CoreEvaluator>> CoreEvaluator::create(const CoreTask& task,
                                                             CoreTaskData data,
                                                             const EvalContext& context) {
  std::unique_ptr<CoreEvaluator> evaluator(new CoreEvaluator(task, std::move(data), context));
  const int shots = evaluator->shots_;
  if (std::cmp_less(shots, evaluator->size())) return evaluator;
  return bad_input(
      fmt::format("{}: {} few-shot examples need at least {} rows, but {} are kept; {}", task.id,
                  shots, shots + 1, evaluator->size(),
                  shots == task.shots ? "raise max_per_task" : "lower num_fewshot"));
}

CoreEvaluator::CoreEvaluator(const CoreTask& task, CoreTaskData data, const EvalContext& context)
    : task_(task),
      shots_(static_cast<int>(context.settings.num_fewshot.value_or(task.shots))),
      settings_(context.settings),
      data_(std::move(data)),
      kept_(shuffled_and_cropped(data_.items.size(), context.settings.shuffle_seed,
                                 context.settings.max_per_task)),
      fault_(context.fault ? context.fault(task.id) : ScorerFault::kNone) {}

std::string CoreEvaluator::public_id(std::size_t i) const {
  return fmt::format("row {}", kept_[i] + 1);
}

std::string CoreEvaluator::item_bytes(std::size_t i) const {
  return nb::item_bytes(item(i), task_.type);
}

std::vector<std::string> CoreEvaluator::prompts(std::size_t i) const {
  std::vector<const CoreItem*> examples;
  for (const std::size_t position :
       few_shot_positions(kept_.size(), i, shots_, settings_.few_shot_seed))
    examples.push_back(&item(position));
  return render_prompts(item(i), examples, task_.type, task_.delimiter);
}

Gold CoreEvaluator::gold(std::size_t i) const {
  Gold gold;
  gold.request = static_cast<std::size_t>(item(i).gold);
  return gold;
}

ItemText CoreEvaluator::shown_text(std::size_t i) const {
  ItemText text = Evaluator::shown_text(i);
  const CoreItem& shown = item(i);
  text.choices = shown.choices;
  const bool has_choices = task_.type != CoreTaskType::kLanguageModelling;
  // A schema asks which of its beginnings suits what goes on the same.
  text.question = task_.type == CoreTaskType::kSchema ? "… " + shown.continuation : shown.query;
  text.reference =
      has_choices ? shown.choices[static_cast<std::size_t>(shown.gold)] : shown.continuation;
  return text;
}

double CoreEvaluator::guessing() const {
  if (task_.type == CoreTaskType::kLanguageModelling) return 0;
  double sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += 1.0 / static_cast<double>(item(i).choices.size());
  return sum / static_cast<double>(size());
}

std::map<std::string, std::string> CoreEvaluator::comparability() const {
  std::map<std::string, std::string> facts = {
      {"baselines", settings_.baselines},
      {"few_shot_seed", std::to_string(settings_.few_shot_seed)},
      {"scorer", std::string(kCoreScorerVersion)},
      {"shuffle_seed", std::to_string(settings_.shuffle_seed)}};
  if (!data_.digest.empty()) facts[task_.id + "/definition"] = data_.digest;
  if (shots_ != task_.shots)
    facts[task_.id + "/few_shot"] = fmt::format("{}, not its own {}", shots_, task_.shots);
  return facts;
}

std::vector<Metric> CoreEvaluator::more_metrics(std::span<const ItemRecord> items) const {
  const auto with_reason = [items](const char* reason) {
    return std::count_if(items.begin(), items.end(),
                         [reason](const ItemRecord& item) { return item.reason == reason; });
  };
  const auto right = with_reason(kAlwaysRight), wrong = with_reason(kAlwaysWrong);
  if (right + wrong == 0) return {};
  return {count_metric(task_.id, metric::kAlwaysRight, right, std::ssize(items)),
          count_metric(task_.id, metric::kAlwaysWrong, wrong, std::ssize(items))};
}

Result<ScoringEvaluator::Requests> CoreEvaluator::requests(std::size_t i,
                                                           const Tokenizer& tokenizer,
                                                           std::int64_t context_length) const {
  Requests result;
  NB_TRY(result.scores, spans_of(tokenizer.encode_batch(prompts(i), tokenizer.bos()), task_.type));
  for (ScoreRequest& request : result.scores) {
    const std::size_t before = request.tokens.size();
    NB_TRY_VOID(cut_left(request, context_length));
    result.cut_tokens += static_cast<std::int64_t>(before - request.tokens.size());
  }
  return result;
}

ItemRecord CoreEvaluator::grade(std::size_t i, std::span<const ScoreRequest> requests,
                                std::span<const ScoreResult> scores,
                                const Tokenizer& tokenizer) const {
  return nb::grade(item(i), task_.type, requests, scores, tokenizer, fault_);
}

}  // namespace nb
