#include "harness/run/evaluation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "evals/completions.hpp"
#include "evals/composites.hpp"
#include "evals/evaluate.hpp"
#include "evals/models/built_in_models.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/faults/faults.hpp"
#include "harness/run/ask_server.hpp"
#include "harness/run/asked_before.hpp"
#include "harness/run/check_request.hpp"
#include "harness/run/evaluation_run.hpp"
#include "harness/run/preflight.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

Result<EvalContext> make_context(const EvaluationRequest& request) {
  EvalContext context;
  context.settings = request.settings;
  context.data_dir = request.data_dir;
  context.batch_items = request.batch_items;
  NB_TRY(const auto tasks, expand_tasks(request.settings, "--task"));
  NB_TRY(context.file_digests, digests_of(request.settings));
  if (!request.faults.empty()) {
    NB_TRY(std::vector<Fault> faults, parse_faults(request.faults, "--fault"));
    NB_TRY_VOID(check_faults_hit(faults, tasks, "--fault"));
    context.fault = scorer_faults(std::move(faults));
  }
  return context;
}

// The evaluator of a task that is answered by texts.
struct TextTask {
  Task task;
  std::unique_ptr<Evaluator> evaluator;
  const GeneratingEvaluator& texts() const {
    return static_cast<const GeneratingEvaluator&>(*evaluator);
  }
};
Result<TextTask> load_text_task(const Task& task, const EvalContext& context,
                                const std::string& flag) {
  TextTask loaded{task, nullptr};
  NB_TRY(loaded.evaluator, load_evaluator(task, context));
  if (loaded.evaluator->generates()) return loaded;
  return bad_input(
      fmt::format("{}: {} scores choices and has no completions to score", flag, task.id));
}

// Nothing: "auto".
std::optional<TextForm> form_named(std::string_view wanted) {
  for (const TextForm form : {TextForm::kAnswer, TextForm::kCompletion, TextForm::kProgram})
    if (wanted == name(form)) return form;
  return std::nullopt;
}

std::vector<std::string> notes_on(const Completions& given, const Record& record) {
  std::vector<std::string> notes;
  if (!given.why.empty())
    notes.push_back(fmt::format("texts read as {} (--completions-form auto): {}",
                                given.form_names(), given.why));
  for (const Metric& m : record.metrics)
    if (m.name.ends_with("/extraction_failures") && m.value && *m.value > 0.5)
      notes.push_back(
          fmt::format("no answer was found in {:.0f} of {} texts, read as {}; is that their form? "
                      "(--completions-form)",
                      *m.value * static_cast<double>(m.n), m.n, given.form_names()));
  return notes;
}

Result<EvaluationOutcome> grade_completions(const EvaluationRequest& request) {
  NB_TRY(const EvalContext context, make_context(request));
  NB_TRY(const auto tasks, expand_tasks(request.settings, "--task"));
  if (tasks.size() != 1)
    return bad_input(fmt::format(
        "--completions: a file holds completions of one task, but --task names {}; give one",
        tasks.size()));
  if (tasks.front().dataset == "microworld")
    return bad_input(fmt::format(
        "--completions: the questions of {} are about the generated world that a model was trained "
        "on, and a file of completions does not say which one; give a --model",
        tasks.front().id));
  NB_TRY(const TextTask loaded, load_text_task(tasks.front(), context, "--completions"));
  // Read twice: its records hold the file's checksum.
  std::error_code error;
  if (const auto type = fs::status(request.completions, error).type();
      type == fs::file_type::fifo || type == fs::file_type::character)
    return bad_input(
        fmt::format("--completions {}: is a pipe or a device; write its lines to a file first",
                    request.completions));
  const CompletionsChoice choice{request.settings.num_samples, request.completions_member,
                                 form_named(request.completions_form), request.ignore_incomplete};
  NB_TRY(const Completions given, read_completions(request.completions, loaded.texts(), choice));
  NB_TRY(const std::string digest, sha256_file(request.completions));
  const std::string& member = request.completions_member;
  const std::string stem = fs::path(request.completions).stem().string();
  AnswerSource source;
  source.name = (member.empty() ? stem : stem + "-" + member) + "." + task_set(request.settings);
  source.folder = source.name;
  // How they are read is part of what is scored.
  source.weights =
      sha256_hex(fmt::format("{}/{}/{}/{}", digest, member, given.form_names(), given.missing));
  const AnswerFunction grade = [&](const EvalContext& c) -> Result<std::vector<EvalResult>> {
    NB_TRY(EvalResult result,
           grade_stored(loaded.task, loaded.texts(), given.texts, c, ItemsWithoutTexts::kLeftOut));
    for (const auto& [key, value] : given.comparability(loaded.texts()))
      result.comparability[key] = value;
    return std::vector<EvalResult>{std::move(result)};
  };
  NB_TRY(EvaluationOutcome outcome, run_in_folder(request, context, source, grade));
  outcome.notes = notes_on(given, outcome.record);
  return outcome;
}

// Texts of one task's items file, by place; `old` gets the records that they stand in.
Result<std::vector<StoredTexts>> texts_of(const StoredRecord& stored, const TextTask& loaded,
                                          std::vector<ItemRecord>& old) {
  const fs::path file = stored.folder / stored.record.items.at(loaded.task.id);
  NB_TRY(old, read_items(file));
  std::unordered_map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < loaded.evaluator->size(); ++i)
    places.emplace(loaded.evaluator->item_id(i), i);
  std::vector<StoredTexts> texts;
  for (const ItemRecord& item : old) {
    const auto place = places.find(item.id);
    if (place == places.end())
      return bad_input(
          fmt::format("{}: item {} is no longer one of the task's items", file.string(), item.id));
    if (item.texts.empty())
      return bad_input(
          fmt::format("{}: item {} has no completion to rescore", file.string(), item.id));
    texts.push_back({place->second, item.texts, item.reason != kNotFinite});
  }
  return texts;
}

// What is read from them is never answered by texts, and they need not be there any more.
void without_own_files(EvalSettings& settings) {
  if (settings.task_files.empty() && settings.texts.empty()) return;
  settings.task_files.clear();
  settings.texts.clear();
  std::erase_if(settings.tasks,
                [](const std::string& id) { return id.starts_with(kOwnPrefix) || id == "bpb"; });
}

Result<EvaluationOutcome> rescore(EvaluationRequest request) {
  NB_TRY(const RunRecords run, read_run(request.rescore));
  if (run.records.empty())
    return nothing_found(run, request.rescore + ": not the folder of an evaluation");
  const bool is_one = has_record(request.rescore) || run.notes.empty();
  if (!is_one || run.records.size() != 1 || run.records[0].record.kind != "eval")
    return bad_input(request.rescore + ": not the folder of an evaluation");
  const StoredRecord& stored = run.records[0];
  NB_TRY_VOID(verify_artifacts(stored));
  NB_TRY(const AskedBefore asked, asked_before(stored));
  request.settings = asked.settings;
  without_own_files(request.settings);
  if (request.settings.tasks.empty())
    return bad_input(request.rescore + ": has no task with completions to rescore");
  NB_TRY(EvalContext context, make_context(request));
  if (asked.microworld) context.microworld = *asked.microworld;
  std::vector<std::string> changed;
  const auto grade_again = [&](const EvalContext& c) -> Result<std::vector<EvalResult>> {
    std::vector<EvalResult> results;
    for (const auto& [id, file] : stored.record.items) {
      const auto task = expand_tasks(std::vector<std::string>{id}, "");
      if (!task || task->front().kind != kTextTask) continue;
      NB_TRY(const TextTask loaded, load_text_task(task->front(), c, "--rescore"));
      std::vector<ItemRecord> old;
      NB_TRY(const auto texts, texts_of(stored, loaded, old));
      NB_TRY(EvalResult result,
             grade_stored(loaded.task, loaded.texts(), texts, c, ItemsWithoutTexts::kLeftOut));
      // What decided the texts stays what it was.
      for (const std::string& key : {std::string("tokenizer"), id + "/generation", id + "/context",
                                     id + "/inputs", id + "/form", id + "/extraction"})
        if (const auto at = stored.record.comparability.find(key);
            at != stored.record.comparability.end())
          result.comparability[key] = at->second;
      for (const ItemRecord& before : old)
        for (const ItemRecord& now : result.items)
          if (now.id == before.id && now.ok != before.ok)
            changed.push_back(fmt::format("{}/{}: was {}, is {}", id, now.id,
                                          before.ok ? "right" : "wrong",
                                          now.ok ? "right" : "wrong"));
      results.push_back(std::move(result));
    }
    if (results.empty())
      return bad_input(request.rescore + ": has no task with completions to rescore");
    for (EvalResult& composite : composites(results, c.settings))
      results.push_back(std::move(composite));
    return results;
  };
  const auto weights = stored.record.subject.find("weights");
  AnswerSource source;
  source.name = stored.record.name;
  source.folder = "rescore-" + stored.folder.filename().string();
  source.weights = weights == stored.record.subject.end() ? "" : weights->second;
  // Nobody answers anew: the texts are still those of their model.
  source.trained_on = stored.record.trained_on;
  source.seed = stored.record.seed;
  source.parents = stored.record.parents;
  source.checkpoint = stored.record.checkpoint;
  NB_TRY(EvaluationOutcome outcome, run_in_folder(request, context, source, grade_again));
  outcome.changed = std::move(changed);
  return outcome;
}

struct Asked {
  EvalContext context;
  OpenedModel opened;
};

// The model of the request, and everything that can be wrong before it is asked.
Result<Asked> open_asked(const EvaluationRequest& request) {
  NB_TRY(EvalContext context, make_context(request));
  NB_TRY(const auto tasks, expand_tasks(request.settings, "--task"));
  NB_TRY(OpenedModel opened, open_model(request.model));
  if (opened.microworld) context.microworld = *opened.microworld;
  NB_TRY_VOID(preflight(context));
  for (const Task& task : tasks)
    if (task.dataset == "microworld" && !opened.microworld &&
        find_built_in_model(request.model.model) == nullptr)
      return bad_input(
          fmt::format("--task {}: its questions are about the generated world that the model was "
                      "trained on, and {} does not say which one; give the folder of its run",
                      task.id, request.model.model));
  return Asked{std::move(context), std::move(opened)};
}

Result<EvaluationOutcome> ask_model(const EvaluationRequest& request) {
  NB_TRY(Asked asked, open_asked(request));
  const OpenedModel& opened = asked.opened;
  LanguageModel& model = *opened.model;
  AnswerSource source;
  source.name = opened.name + "." + task_set(request.settings);
  source.folder = opened.label + "." + task_set(request.settings);
  source.weights = opened.weights;
  source.opened = &opened;
  source.trained_on = opened.trained_on;
  source.seed = opened.seed;
  source.parents = opened.parents;
  source.checkpoint = opened.checkpoint;
  return run_in_folder(request, std::move(asked.context), source,
                       [&model](const EvalContext& c) { return evaluate(c, model); });
}

}  // namespace

Result<std::vector<ShownTask>> prompts_of(const EvaluationRequest& request, std::int64_t items) {
  NB_TRY_VOID(check_request(request));
  if (!request.server.url.empty()) {
    NB_TRY(EvalContext context, make_context(request));
    return server_prompts(request, std::move(context), items);
  }
  if (request.model.model.empty())
    return bad_input("--write-out: completions have no prompts to show; give a --model");
  NB_TRY(const Asked asked, open_asked(request));
  return show_prompts(asked.context, *asked.opened.tokenizer, asked.opened.model->context_length(),
                      items);
}

Result<EvaluationOutcome> run_evaluation(const EvaluationRequest& request) {
  NB_TRY_VOID(check_request(request));
  NB_TRY_VOID(check_writable(request.results_dir));
  if (!request.completions.empty()) return grade_completions(request);
  if (!request.rescore.empty()) return rescore(request);
  if (!request.server.url.empty()) {
    NB_TRY(EvalContext context, make_context(request));
    return ask_server(request, std::move(context));
  }
  return ask_model(request);
}

}  // namespace nb
