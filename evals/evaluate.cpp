#include "evals/evaluate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "evals/base/eval_metrics.hpp"
#include "evals/chat/number_evaluator.hpp"
#include "evals/composites.hpp"
#include "evals/core/own_tasks.hpp"
#include "evals/data/manifest.hpp"
#include "evals/generate_texts.hpp"
#include "evals/humaneval/evaluator.hpp"
#include "evals/models/gold_reader.hpp"
#include "evals/task_registry.hpp"
#include "evals/text/evaluator.hpp"
#include "harness/base/check.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/parallel.hpp"
#include "model/tokenizer/tokenizer.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

// Items whose tokens are hashed: what changes the tokens of one item in general changes these.
constexpr std::size_t kHashedInputs = 16;

// One task under way: which items are there, which are asked next.
class Run {
 public:
  Run(const Task& task, const Evaluator& evaluator, const EvalContext& context)
      : task_(task), evaluator_(evaluator), context_(context), records_(evaluator.size()) {
    NB_CHECK(context.shards >= 1 && context.shard >= 0 && context.shard < context.shards,
             "[evaluate] shard {} of {}", context.shard, context.shards);
    hash_items();
  }

  // The other items are no part of the result. Called before anything is asked.
  void leave_out_all_but(std::span<const StoredTexts> stored) {
    is_left_out_.assign(records_.size(), true);
    for (const StoredTexts& one : stored) is_left_out_[one.item] = false;
    hash_items();
  }

  Result<EvalResult> with_model(LanguageModel& model) {
    NB_TRY_VOID(evaluator_.check_tokenizer(model.tokenizer()), std::string(task_.id));
    NB_TRY_VOID(load_finished_items());
    NB_TRY(input_hash_, hash_inputs(model));
    std::vector<std::size_t> wanted;
    for (std::size_t i = 0; i < records_.size(); ++i)
      if (is_mine(i) && !records_[i]) wanted.push_back(i);
    std::size_t done = mine() - wanted.size();
    report(done);
    const std::size_t step = batch_items();
    for (std::size_t begin = 0; begin < wanted.size(); begin += step) {
      const auto batch = std::span(wanted).subspan(begin, std::min(step, wanted.size() - begin));
      NB_TRY_VOID(evaluator_.generates() ? answered(batch, model) : scored(batch, model));
      report(done += batch.size());
    }
    return finish(model.tokenizer().hash(), model.context_length(), /*is_generated=*/true);
  }

  Result<EvalResult> with_texts(const GeneratingEvaluator& evaluator,
                                std::span<const StoredTexts> stored) {
    const std::size_t step = batch_items();
    for (std::size_t begin = 0; begin < stored.size(); begin += step) {
      const auto batch = stored.subspan(begin, std::min(step, stored.size() - begin));
      std::vector<std::optional<Result<ItemRecord>>> graded(batch.size());
      grade_all(evaluator, graded, [&](std::size_t k) { return batch[k]; });
      for (std::size_t k = 0; k < batch.size(); ++k)
        NB_TRY_VOID(keep(batch[k].item, std::move(*graded[k]), 0, batch[k].texts));
      report(begin + batch.size());
    }
    return finish("stored texts", 0, /*is_generated=*/false);
  }

 private:
  bool is_left_out(std::size_t i) const { return !is_left_out_.empty() && is_left_out_[i]; }
  bool is_mine(std::size_t i) const {
    return static_cast<std::int64_t>(i) % context_.shards == context_.shard;
  }
  std::size_t batch_items() const {
    return static_cast<std::size_t>(std::max<std::int64_t>(1, context_.batch_items));
  }
  std::size_t mine() const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) count += is_mine(i) ? 1 : 0;
    return count;
  }

  void hash_items() {
    Sha256 all_items, all_prompts;
    prompt_hashes_.clear();
    place_of_.clear();
    for (std::size_t i = 0; i < evaluator_.size(); ++i) {
      if (is_left_out(i)) {
        prompt_hashes_.emplace_back();
        continue;
      }
      update_netstring(all_items, evaluator_.item_bytes(i));
      const std::vector<std::string> prompts = evaluator_.prompts(i);
      for (const std::string& prompt : prompts) update_netstring(all_prompts, prompt);
      prompt_hashes_.push_back(prompt_hash(prompts));
      const bool is_new = place_of_.emplace(evaluator_.item_id(i), i).second;
      NB_CHECK(is_new, "[evaluate] {}: item {} appears twice", task_.id, evaluator_.item_id(i));
    }
    item_hash_ = all_items.hex();
    prompt_hash_ = all_prompts.hex();
  }

  // Of the tokens that the model is given for the first items, and of which of them count. The same
  // in every shard and after every resume.
  Result<std::string> hash_inputs(LanguageModel& model) const {
    Sha256 hash;
    const auto add = [&hash](std::span<const int> tokens, std::size_t start, std::size_t end) {
      hash.update(fmt::format("{} {} {}:", tokens.size(), start, end));
      for (const int token : tokens) hash.update(fmt::format("{} ", token));
    };
    const std::int64_t context = model.context_length();
    for (std::size_t i = 0; i < std::min(kHashedInputs, evaluator_.size()); ++i) {
      if (evaluator_.generates()) {
        const auto& evaluator = static_cast<const GeneratingEvaluator&>(evaluator_);
        const std::int64_t room = context - context_.settings.max_new_tokens;
        NB_TRY(const auto prompt, evaluator.prompt(i, model.tokenizer(), room), describe(i));
        add(prompt.tokens, 0, 0);
        continue;
      }
      const auto& evaluator = static_cast<const ScoringEvaluator&>(evaluator_);
      NB_TRY(const auto asked, evaluator.requests(i, model.tokenizer(), context), describe(i));
      for (const ScoreRequest& score : asked.scores) add(score.tokens, score.start, score.end);
    }
    return hash.hex();
  }

  Result<void> load_finished_items() {
    if (!context_.done) return {};
    NB_TRY(auto done, context_.done(task_.id));
    for (ItemRecord& record : done) {
      const auto place = place_of_.find(record.id);
      if (place == place_of_.end() || record.prompt_hash != prompt_hashes_[place->second])
        return bad_input(
            fmt::format("{}: item {} was evaluated with other data, settings or prompts; start "
                        "over with --fresh",
                        task_.id, record.id));
      records_[place->second] = std::move(record);
    }
    return {};
  }

  // EvalContext::asked_instead.
  std::size_t asked(std::size_t i) const {
    return context_.asked_instead ? context_.asked_instead(i, records_.size()) : i;
  }

  void report(std::size_t done) const {
    if (context_.progress)
      context_.progress(task_.id, static_cast<std::int64_t>(done),
                        static_cast<std::int64_t>(mine()));
  }

  std::string describe(std::size_t i) const {
    return fmt::format("{}: {} (item {})", task_.id, evaluator_.public_id(i),
                       evaluator_.item_id(i));
  }

  // The side channel of built-in models; real ones have none.
  void show_gold(LanguageModel& model, std::span<const std::size_t> batch,
                 std::span<const std::size_t> requests) const {
    auto* reader = dynamic_cast<GoldReader*>(&model);
    if (reader == nullptr) return;
    std::vector<GoldReader::Item> items;
    for (std::size_t k = 0; k < batch.size(); ++k)
      items.push_back(
          {evaluator_.item_id(batch[k]), evaluator_.gold(asked(batch[k])), requests[k]});
    reader->expect(std::move(items));
  }

  Result<void> scored(std::span<const std::size_t> batch, LanguageModel& model) {
    const auto& evaluator = static_cast<const ScoringEvaluator&>(evaluator_);
    std::vector<ScoreRequest> requests;
    std::vector<std::size_t> counts;
    std::vector<std::int64_t> cut;
    for (const std::size_t i : batch) {
      NB_TRY(auto asked, evaluator.requests(asked(i), model.tokenizer(), model.context_length()),
             describe(i));
      std::move(asked.scores.begin(), asked.scores.end(), std::back_inserter(requests));
      counts.push_back(asked.scores.size());
      cut.push_back(asked.cut_tokens);
    }
    show_gold(model, batch, counts);
    const auto keep_item = [&](std::size_t k, std::size_t from, std::span<const ScoreResult> its) {
      return keep(batch[k],
                  evaluator.grade(asked(batch[k]), std::span(requests).subspan(from, counts[k]),
                                  its, model.tokenizer()),
                  cut[k], {});
    };
    try {
      const std::vector<ScoreResult> scores = model.score(requests);
      std::size_t from = 0;
      for (std::size_t k = 0; k < batch.size(); from += counts[k], ++k)
        NB_TRY_VOID(keep_item(k, from, std::span(scores).subspan(from, counts[k])));
    } catch (const ModelFailure& failure) {
      std::size_t from = 0;
      for (std::size_t k = 0; k < batch.size(); from += counts[k], ++k) {
        std::vector<ScoreResult> its;
        for (std::size_t at = from; at < from + counts[k] && at < failure.scores.size(); ++at)
          if (failure.scores[at]) its.push_back(*failure.scores[at]);
        if (its.size() == counts[k]) NB_TRY_VOID(keep_item(k, from, its));
      }
      return run_error(failure.what());
    }
    return {};
  }

  Result<void> answered(std::span<const std::size_t> batch, LanguageModel& model) {
    const auto& evaluator = static_cast<const GeneratingEvaluator&>(evaluator_);
    std::vector<std::vector<int>> prompts;
    std::vector<std::int64_t> cut;
    const std::int64_t room = model.context_length() - context_.settings.max_new_tokens;
    for (const std::size_t i : batch) {
      NB_TRY(auto prompt, evaluator.prompt(asked(i), model.tokenizer(), room), describe(i));
      prompts.push_back(std::move(prompt.tokens));
      cut.push_back(prompt.cut_tokens);
    }
    show_gold(model, batch, std::vector<std::size_t>(batch.size(), 1));
    std::vector<std::size_t> places;  // in the batch, of the texts that are there
    std::vector<GeneratedTexts> texts;
    std::string trouble;
    try {
      texts = generate_texts(model, prompts, context_.settings);
      for (std::size_t k = 0; k < batch.size(); ++k) places.push_back(k);
    } catch (const ModelFailure& failure) {
      trouble = failure.what();
      for (std::size_t k = 0; k < std::min(batch.size(), failure.generated.size()); ++k)
        if (failure.generated[k]) {
          places.push_back(k);
          texts.push_back(texts_of(*failure.generated[k], model.tokenizer()));
        }
    }
    std::vector<std::optional<Result<ItemRecord>>> graded(places.size());
    grade_all(evaluator, graded, [&](std::size_t k) {
      StoredTexts stored{asked(batch[places[k]]), texts[k].texts, texts[k].is_finite};
      for (std::string& text : stored.texts)
        text = evaluator.stored_text(stored.item, TextForm::kAnswer, std::move(text));
      return stored;
    });
    for (std::size_t k = 0; k < places.size(); ++k)
      NB_TRY_VOID(keep(batch[places[k]], std::move(*graded[k]), cut[places[k]], texts[k].texts));
    if (!trouble.empty()) return run_error(trouble);
    return {};
  }

  template <class TextsOf>
  static void grade_all(const GeneratingEvaluator& evaluator,
                        std::vector<std::optional<Result<ItemRecord>>>& graded, TextsOf texts_of) {
    parallel_for(graded.size(), 1, [&](std::size_t k) {
      const StoredTexts stored = texts_of(k);
      graded[k] = evaluator.grade(stored.item, stored.texts);
      if (!stored.is_finite && *graded[k]) graded[k] = not_finite(**graded[k]);
    });
  }

  // Without the score that a text of such a model got.
  static ItemRecord not_finite(const ItemRecord& graded) {
    ItemRecord record;
    record.gold = graded.gold;
    record.reason = kNotFinite;
    return record;
  }

  Result<void> keep(std::size_t i, Result<ItemRecord> graded, std::int64_t cut_tokens,
                    std::vector<std::string> texts) {
    NB_TRY(ItemRecord record, std::move(graded), describe(i));
    record.id = evaluator_.item_id(i);
    record.prompt_hash = prompt_hashes_[i];
    record.cut_tokens = cut_tokens;
    record.texts = std::move(texts);
    if (context_.sink) NB_TRY_VOID(context_.sink(task_.id, record));
    records_[i] = std::move(record);
    return {};
  }

  Result<EvalResult> finish(const std::string& tokenizer, std::int64_t context_length,
                            bool is_generated) {
    EvalResult result;
    result.task = task_.id;
    const auto left_out = std::ranges::count(is_left_out_, true);
    result.items_expected = std::ssize(records_) - left_out;
    for (auto& record : records_)
      if (record) result.items.push_back(std::move(*record));
    const auto cut = std::count_if(result.items.begin(), result.items.end(),
                                   [](const ItemRecord& item) { return item.cut_tokens > 0; });
    const bool was_cut = cut > 0;
    const auto of_task = [this](const char* key) { return fmt::format("{}/{}", task_.id, key); };
    const std::int64_t kept = context_.settings.max_per_task;
    result.comparability = evaluator_.comparability();
    result.comparability.merge(evaluator_.more_comparability(result.items, context_length));
    result.environment = evaluator_.environment();
    result.comparability.insert({
        {of_task("items"), item_hash_},
        {of_task("prompts"), prompt_hash_},
        {of_task("context"), was_cut ? fmt::format("cut to {} tokens", context_length) : "whole"},
        {"max_per_task", kept > 0 ? std::to_string(kept) : "all"},
        {"tokenizer", tokenizer},
    });
    if (!input_hash_.empty()) result.comparability[of_task("inputs")] = input_hash_;
    if (evaluator_.generates())
      result.comparability[of_task("generation")] =
          is_generated ? generation_text(context_.settings) : "stored texts";
    if (!result.is_complete() || result.items.empty()) return result;
    if (evaluator_.has_answers())
      result.metrics = accuracy_metrics(task_.id, result.items, evaluator_.baseline_percent());
    else if (auto not_scored = not_scored_metric(task_.id, result.items))
      result.metrics.push_back(std::move(*not_scored));
    const std::string unscored = not_scored_reason(result.items);
    if (was_cut)
      result.metrics.push_back(
          count_metric(task_.id, metric::kCutPrompts, cut, result.items_expected));
    if (left_out > 0)
      result.metrics.push_back(
          count_metric(task_.id, metric::kLeftOut, left_out, std::ssize(records_)));
    for (Metric& metric : evaluator_.more_metrics(result.items))
      result.metrics.push_back(unscored.empty() ? std::move(metric)
                                                : without_value(std::move(metric), unscored));
    return result;
  }

  const Task& task_;
  const Evaluator& evaluator_;
  const EvalContext& context_;
  std::vector<std::optional<ItemRecord>> records_;  // by place
  std::vector<bool> is_left_out_;                   // empty: none
  std::vector<std::string> prompt_hashes_;
  std::unordered_map<std::string, std::size_t> place_of_;  // by id
  std::string item_hash_, prompt_hash_;
  std::string input_hash_;  // empty: nothing was asked
};

}  // namespace

Result<std::unique_ptr<Evaluator>> load_evaluator(const Task& task, const EvalContext& context) {
  return task.load(task, context);
}

Result<std::vector<std::string>> datasets_of(const EvalSettings& settings) {
  NB_TRY(const auto tasks, expand_tasks(settings, ""));
  std::vector<std::string> datasets;
  for (const Task& task : tasks)
    if (is_in_manifest(task)) datasets.emplace_back(task.dataset);
  return datasets;
}

Result<std::map<std::string, std::string>> digests_of(const EvalSettings& settings) {
  std::map<std::string, std::string> digests;
  if (settings.task_files.empty() && settings.texts.empty()) return digests;
  NB_TRY(const auto tasks, expand_tasks(settings, ""));
  for (const Task& task : tasks) {
    if (task.load == load_texts) {
      NB_TRY(const Texts texts, read_texts(settings.texts));
      digests[task.id] = texts.digest;
    } else if (task.dataset == kOwnFiles) {
      NB_TRY(digests[task.id], own_digest(*task.core));
    }
  }
  return digests;
}

std::string sandbox_level(const EvalSettings& settings) {
  const auto tasks = expand_tasks(settings, "");
  const auto runs_programs = [](const Task& task) {
    return task.load == load_humaneval || task.load == load_microworld_programs;
  };
  if (!tasks || std::ranges::none_of(*tasks, runs_programs)) return "";
  const auto ability = sandbox::probe();
  return ability ? std::string(sandbox::name(ability->level)) : "";
}

Result<void> preflight(const EvalContext& context) {
  NB_TRY(const auto datasets, datasets_of(context.settings));
  if (!datasets.empty()) NB_TRY_VOID(check_presence(data_manifest(), datasets, context.data_dir));
  NB_TRY(const auto tasks, expand_tasks(context.settings, ""));
  for (const Task& task : tasks) {
    NB_TRY_VOID(check_sampling(task, context.settings));
    if (const auto loaded = load_evaluator(task, context); !loaded)
      return tl::unexpected<Error>(loaded.error());
  }
  return {};
}

Result<EvalResult> evaluate(const Task& task, const Evaluator& evaluator,
                            const EvalContext& context, LanguageModel& model) {
  return Run(task, evaluator, context).with_model(model);
}

Result<EvalResult> grade_stored(const Task& task, const GeneratingEvaluator& evaluator,
                                std::span<const StoredTexts> stored, const EvalContext& context,
                                ItemsWithoutTexts missing) {
  Run run(task, evaluator, context);
  if (missing == ItemsWithoutTexts::kLeftOut) run.leave_out_all_but(stored);
  return run.with_texts(evaluator, stored);
}

Result<std::vector<EvalResult>> evaluate(const EvalContext& context, LanguageModel& model) {
  NB_TRY(const auto tasks, expand_tasks(context.settings, ""));
  std::vector<EvalResult> results;
  for (const Task& task : tasks) {
    NB_TRY(const auto evaluator, load_evaluator(task, context));
    NB_TRY(EvalResult result, evaluate(task, *evaluator, context, model));
    results.push_back(std::move(result));
  }
  for (EvalResult& composite : composites(results, context.settings))
    results.push_back(std::move(composite));
  return results;
}

}  // namespace nb
