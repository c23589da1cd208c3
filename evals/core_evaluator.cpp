#include "evals/core_evaluator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "evals/core_items.hpp"
#include "evals/core_mark.hpp"
#include "evals/core_prompt.hpp"
#include "evals/core_spans.hpp"
#include "evals/data_manifest.hpp"
#include "evals/microworld_items.hpp"
#include "harness/base/hash.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "results/metric_names.hpp"
#include "results/stats.hpp"

namespace nb {
namespace {

// Items whose prompts are handed to the model together. A matter of memory and progress, never of
// results.
constexpr std::size_t kItemsAtOnce = 32;

Result<void> check_shots(const CoreTask& task, std::size_t kept) {
  if (std::cmp_less(task.shots, kept)) return {};
  return bad_input(fmt::format(
      "{}: {} few-shot examples need at least {} rows, but {} are kept; raise max_per_task",
      task.id, task.shots, task.shots + 1, kept));
}

// Feeds a hash so that neither order nor borders can be mistaken.
void update_netstring(Sha256& hash, std::string_view text) {
  hash.update(std::to_string(text.size()) + ":");
  hash.update(text);
}

// One evaluation under way.
class Run {
 public:
  Run(const CoreTask& task, const EvalContext& context, const CoreTaskData& data,
      LanguageModel& model)
      : task_(task),
        settings_(context.settings),
        data_(data),
        model_(model),
        kept_(shuffled_and_cropped(data.items.size(), context.settings.shuffle_seed,
                                   context.settings.max_per_task)),
        fault_(context.fault ? context.fault(task.id) : ScorerFault::kNone) {}

  Result<EvalResult> all(const EvalContext& context) {
    NB_TRY_VOID(check_shots(task_, kept_.size()));
    for (std::size_t begin = 0; begin < kept_.size(); begin += kItemsAtOnce) {
      const std::size_t end = std::min(begin + kItemsAtOnce, kept_.size());
      NB_TRY_VOID(some(begin, end));
      if (context.progress)
        context.progress(task_.id, static_cast<std::int64_t>(end),
                         static_cast<std::int64_t>(kept_.size()));
    }
    return finish();
  }

 private:
  // Items [begin, end) of the kept ones.
  Result<void> some(std::size_t begin, std::size_t end) {
    std::vector<ScoreRequest> requests;
    std::vector<std::size_t> first = {
        0};  // requests [first[i], first[i + 1]) are of item begin + i
    for (std::size_t index = begin; index < end; ++index) {
      NB_TRY(auto spans, spans_of_item(index), describe(index));
      for (ScoreRequest& span : spans) requests.push_back(std::move(span));
      first.push_back(requests.size());
    }
    const std::vector<ScoreResult> scores = model_.score(requests);
    for (std::size_t index = begin; index < end; ++index) {
      const std::size_t from = first[index - begin], count = first[index - begin + 1] - from;
      items_.push_back(mark(item(index), task_.type, std::span(requests).subspan(from, count),
                            std::span(scores).subspan(from, count), model_.tokenizer(), fault_));
    }
    return {};
  }

  Result<std::vector<ScoreRequest>> spans_of_item(std::size_t index) {
    std::vector<const CoreItem*> examples;
    for (const std::size_t position :
         few_shot_positions(kept_.size(), index, task_.shots, settings_.few_shot_seed))
      examples.push_back(&item(position));
    const auto prompts = render_prompts(item(index), examples, task_.type, task_.delimiter);
    update_netstring(item_hash_, item_bytes(item(index), task_.type));
    for (const std::string& prompt : prompts) update_netstring(prompt_hash_, prompt);
    const Tokenizer& tokenizer = model_.tokenizer();
    NB_TRY(auto requests, spans_of(tokenizer.encode_batch(prompts, tokenizer.bos()), task_.type));
    for (ScoreRequest& request : requests) {
      NB_TRY(const bool cut, cut_left(request, model_.context_length()));
      was_cut_ = was_cut_ || cut;
    }
    return requests;
  }

  EvalResult finish() {
    EvalResult result;
    result.task = task_.id;
    const auto n = static_cast<std::int64_t>(items_.size());
    const auto right = std::count_if(items_.begin(), items_.end(),
                                     [](const ItemRecord& record) { return record.ok; });
    const double accuracy = static_cast<double>(right) / static_cast<double>(n);
    const Interval interval = wilson(right, n);
    result.metrics.push_back(metric(metric::kAccuracy, accuracy, interval));
    const auto centre = [this](double value) { return centred(value, data_.baseline_percent); };
    result.metrics.push_back(
        metric(metric::kCentred, centre(accuracy), {centre(interval.low), centre(interval.high)}));
    result.items = std::move(items_);
    const auto of_task = [this](const char* key) { return fmt::format("{}/{}", task_.id, key); };
    result.comparability = {
        {of_task("items"), item_hash_.hex()},
        {of_task("prompts"), prompt_hash_.hex()},
        {of_task("context"),
         was_cut_ ? fmt::format("cut to {} tokens", model_.context_length()) : "whole"},
        {"baselines", settings_.baselines},
        {"few_shot_seed", std::to_string(settings_.few_shot_seed)},
        {"max_per_task",
         settings_.max_per_task > 0 ? std::to_string(settings_.max_per_task) : "all"},
        {"scorer", std::string(kCoreScorerVersion)},
        {"shuffle_seed", std::to_string(settings_.shuffle_seed)},
        {"tokenizer", model_.tokenizer().hash()},
    };
    return result;
  }

  Metric metric(const char* name, double value, Interval interval) const {
    Metric metric;
    metric.name = metric::of_task(task_.id, name);
    metric.task = task_.id;
    metric.value = value;
    metric.unit = "1";
    metric.direction = Direction::kHigher;
    metric.n = static_cast<std::int64_t>(kept_.size());
    metric.low = interval.low;
    metric.high = interval.high;
    return metric;
  }

  const CoreItem& item(std::size_t index) const { return data_.items[kept_[index]]; }
  std::string describe(std::size_t index) const {
    return fmt::format("{}: item {} (row {})", task_.id, item(index).id, kept_[index] + 1);
  }

  const CoreTask& task_;
  const EvalSettings& settings_;
  const CoreTaskData& data_;
  LanguageModel& model_;
  std::vector<std::size_t> kept_;
  ScorerFault fault_;
  Sha256 item_hash_, prompt_hash_;
  bool was_cut_ = false;
  std::vector<ItemRecord> items_;
};

}  // namespace

double centred(double accuracy, double baseline_percent) {
  const double chance = 0.01 * baseline_percent;
  return (accuracy - chance) / (1.0 - chance);
}

Result<CoreTaskData> load_core_task(const CoreTask& task, const EvalContext& context) {
  if (is_microworld(task)) return microworld_task_data(task, context.microworld);
  CoreTaskData data;
  data.baseline_percent = context.settings.baselines == "v2" ? task.baseline_v2 : task.baseline_v1;
  NB_TRY(const ResolvedFile file, resolve(data_manifest(), task.dataset, context.data_dir),
         std::string(task.id));
  NB_TRY(data.items, read_core_items(file.path, task.type), std::string(task.id));
  return data;
}

Result<void> CoreEvaluator::preflight(const EvalContext& context) const {
  NB_TRY(const CoreTaskData data, load_core_task(task_, context));
  const std::size_t kept = shuffled_and_cropped(data.items.size(), context.settings.shuffle_seed,
                                                context.settings.max_per_task)
                               .size();
  return check_shots(task_, kept);
}

Result<EvalResult> CoreEvaluator::evaluate(const EvalContext& context, LanguageModel& model) const {
  NB_TRY(const CoreTaskData data, load_core_task(task_, context));
  return evaluate(context, data, model);
}

Result<EvalResult> CoreEvaluator::evaluate(const EvalContext& context, const CoreTaskData& data,
                                           LanguageModel& model) const {
  return Run(task_, context, data, model).all(context);
}

}  // namespace nb
