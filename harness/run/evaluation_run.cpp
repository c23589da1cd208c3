#include "harness/run/evaluation_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "evals/evaluate.hpp"
#include "evals/task_registry.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/progress.hpp"
#include "harness/base/say.hpp"
#include "harness/plan/plan.hpp"
#include "harness/remote/server_facts.hpp"
#include "harness/run/device_card.hpp"
#include "harness/run/eval_progress.hpp"
#include "harness/run/node_lock.hpp"
#include "harness/run/node_state.hpp"
#include "harness/run/partial_items.hpp"
#include "harness/run/runner.hpp"
#include "harness/run/write_evaluation.hpp"
#include "results/store/items.hpp"
#include "results/store/store.hpp"

namespace nb {
namespace {

constexpr const char* kServerFile = "server.json";  // beside the items under way
constexpr std::size_t kLongestTaskSet = 60;         // it is part of a folder's name

Node node_of(const EvaluationRequest& request, const EvalContext& context,
             const AnswerSource& source) {
  AskWork work;
  work.weights = source.weights;
  work.history = sha256_json(*source.checkpoint);
  if (!source.server.empty()) work.server = source.server;
  work.faults = request.faults;
  work.settings = context.settings;
  work.file_digests = context.file_digests;
  std::string device_content;
  if (source.opened) {
    work.tokenizer = source.opened->tokenizer->hash();
    if (source.opened->microworld) work.microworld = context.microworld;
    if (source.opened->resolved) device_content = source.opened->resolved->content;
  }
  device_content += sandbox_level(context.settings);
  Node node;
  node.label = source.name;
  node.name = source.folder;
  node.key = node_key(work, source.parents, device_content);
  node.work = std::move(work);
  return node;
}

bool asks_about_the_world(const EvalSettings& settings) {
  const auto tasks = expand_tasks(settings, "");
  return tasks && std::ranges::any_of(
                      *tasks, [](const Task& task) { return task.dataset == kGeneratedWorld; });
}

class EvaluationRun {
 public:
  EvaluationRun(const EvaluationRequest& request, EvalContext context, const AnswerSource& source,
                const AnswerFunction& answer)
      : request_(request), context_(std::move(context)), source_(source), answer_(answer) {
    plan_.suite = request.suite;
    plan_.shares_folder = true;
    plan_.nodes.push_back(node_of(request, context_, source));
    const Node& node = plan_.nodes.front();
    outcome_.folder = node_folder(request.results_dir, plan_.suite, node.name, node.key);
  }

  Result<EvaluationOutcome> run() {
    if (!source_.server.empty() && !request_.fresh && has_record(outcome_.folder))
      if (const auto record = read_record(outcome_.folder); record && record->status == "ok")
        NB_TRY_VOID(check_server(record->environment->value("server", Json()), outcome_.folder));
    if (request_.shards == 1)
      return run_node([this](const StageContext& stage, Record& record) -> Result<void> {
        const PartialItems partial(stage.folder, stage.node.key, 0, 1, stage.warn);
        NB_TRY(const std::vector<EvalResult> results, ask(partial));
        return write(results, stage.folder, record);
      });
    return run_shard();
  }

 private:
  // Makes this shard's items, then the record where no other shard's are missing.
  Result<EvaluationOutcome> run_shard() {
    const fs::path& folder = outcome_.folder;
    const fs::path own =
        folder.parent_path() /
        fmt::format("{}.{}-of-{}", folder.filename().string(), request_.shard, request_.shards);
    NB_TRY(const FileLock lock, lock_node(own, [&](const std::string& holder) {
             if (progress_mode() != ProgressMode::kQuiet)
               say_on_stderr(fmt::format("{}: waiting for {}, which is working on it\n",
                                         own.string(), holder));
           }));
    const NodeState state = inspect_node(folder, plan_.nodes.front(), /*verify=*/true);
    if (state.condition == NodeCondition::kDone && !request_.fresh) return run_node(nullptr);
    const PartialItems partial(folder, plan_.nodes.front().key, request_.shard, request_.shards,
                               [](const std::string& text) { say_on_stderr(text + "\n"); });
    if (request_.fresh) NB_TRY_VOID(partial.begin_again());
    NB_TRY(std::vector<EvalResult> results, ask(partial));
    std::int64_t made = -outcome_.items_resumed;
    for (const EvalResult& result : results) made += std::ssize(result.items);
    // Others may have ended meanwhile: whoever ends last finds the items of all.
    NB_TRY(results, ask(partial, /*shows_progress=*/false));
    outcome_.items_resumed -= made;  // found too, but not from elsewhere
    count(results);
    if (!outcome_.is_complete) return std::move(outcome_);
    return run_node([&](const StageContext& stage, Record& record) {
      return write(results, stage.folder, record);
    });
  }

  // Items that are there were answered by who answers now.
  Result<void> check_server(const Json& before, const fs::path& where) const {
    const std::string why = other_model(before, *source_.server_facts);
    if (why.empty()) return {};
    return bad_input(
        fmt::format("{}: its items were answered by another model than the one that is "
                    "served now: {}; evaluate it under another --name, or start over "
                    "with --fresh",
                    where.string(), why));
  }
  Result<void> keep_server() const {
    if (source_.server.empty()) return {};
    const fs::path file = outcome_.folder / kPartialFolder / kServerFile;
    std::error_code error;
    if (fs::exists(file, error)) {
      NB_TRY(const Json before, read_json(file));
      return check_server(before, outcome_.folder);
    }
    NB_TRY_VOID(make_folders(file.parent_path()));
    return write_json(file, *source_.server_facts);
  }

  Result<std::vector<EvalResult>> ask(const PartialItems& partial, bool shows_progress = true) {
    NB_TRY_VOID(keep_server());
    EvalContext context = context_;
    if (source_.opened) partial.attach(context);
    EvalProgress progress(source_.folder);
    if (shows_progress) context.progress = std::ref(progress);
    outcome_.items_resumed = 0;
    if (context.done)
      context.done = [&, read = context.done](std::string_view task) {
        auto done = read(task);
        if (done) outcome_.items_resumed += std::ssize(*done);
        return done;
      };
    return answer_(context);
  }

  void count(std::span<const EvalResult> results) {
    outcome_.is_complete = true;
    outcome_.items_done = outcome_.items_expected = 0;
    for (const EvalResult& result : results) {
      outcome_.items_done += std::ssize(result.items);
      outcome_.items_expected += result.items_expected;
      outcome_.is_complete = outcome_.is_complete && result.is_complete();
    }
  }

  Result<void> write(std::span<const EvalResult> results, const fs::path& folder, Record& record) {
    count(results);
    record.settings = print_struct(context_.settings);
    (*record.settings)["faults"] = request_.faults;
    // Without it, --rescore and show could not make the items again.
    if (asks_about_the_world(context_.settings))
      (*record.settings)["microworld"] = print_struct(context_.microworld);
    record.subject["weights"] = source_.weights;
    record.trained_on = source_.trained_on;
    record.seed = source_.seed;
    record.parents = source_.parents;
    record.checkpoint = source_.checkpoint;
    if (source_.opened) {
      record.device = source_.opened->device;
      if (source_.opened->resolved)
        describe_device(*source_.opened->resolved, uses_of(results), /*cards=*/1, record);
    }
    if (source_.describe) source_.describe(record);
    return write_evaluation(results, folder, record);
  }

  // stage: none where the node is known to be done.
  Result<EvaluationOutcome> run_node(const StageFunction& stage) {
    RunOptions options;
    options.results_dir = request_.results_dir;
    options.data_dir = request_.data_dir;
    options.fresh = request_.fresh;
    options.tells_nodes = false;
    options.quiet = progress_mode() == ProgressMode::kQuiet;
    options.keeps_partial = request_.shards > 1;
    NB_TRY(const RunSummary summary, run_plan(plan_, options, stage));
    const NodeReport& report = summary.nodes.front();
    if (report.outcome == NodeOutcome::kFailed)
      return tl::unexpected<Error>({report.error, report.message});
    NB_TRY(outcome_.record, read_record(outcome_.folder));
    if (report.outcome == NodeOutcome::kReused) NB_TRY_VOID(count_reused());
    return std::move(outcome_);
  }

  Result<void> count_reused() {
    outcome_.is_reused = outcome_.is_complete = true;
    outcome_.items_done = 0;
    for (const auto& [task, file] : outcome_.record.items) {
      NB_TRY(const auto items, read_items(outcome_.folder / file));
      outcome_.items_done += std::ssize(items);
    }
    outcome_.items_expected = outcome_.items_resumed = outcome_.items_done;
    return {};
  }

  const EvaluationRequest& request_;
  EvalContext context_;
  const AnswerSource& source_;
  const AnswerFunction& answer_;
  Plan plan_;
  EvaluationOutcome outcome_;
};

}  // namespace

std::string task_set(const EvalSettings& settings) {
  std::vector<std::string> parts = settings.tasks;
  for (const std::string& file : settings.task_files)
    parts.push_back(fs::path(file).filename().string());
  for (const std::string& file : settings.texts)
    parts.push_back(fs::path(file).filename().string());
  std::string text = fmt::format("{}", fmt::join(parts, "+"));
  if (settings.window) text += fmt::format("-window-{}", *settings.window);
  if (settings.num_fewshot) text += fmt::format("-{}-shot", *settings.num_fewshot);
  if (text.size() <= kLongestTaskSet) return text;
  return fmt::format("{}-tasks-{}", parts.size(), sha256_hex(text).substr(0, 8));
}

Result<EvaluationOutcome> run_in_folder(const EvaluationRequest& request, EvalContext context,
                                        const AnswerSource& source, const AnswerFunction& answer) {
  return EvaluationRun(request, std::move(context), source, answer).run();
}

}  // namespace nb
