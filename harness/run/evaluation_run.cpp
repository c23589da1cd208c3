#include "harness/run/evaluation_run.hpp"

#include <fmt/format.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "harness/base/host_info.hpp"
#include "harness/base/progress.hpp"
#include "harness/plan/node_kinds.hpp"
#include "harness/run/device_card.hpp"
#include "harness/run/environment.hpp"
#include "harness/run/eval_progress.hpp"
#include "harness/run/node_lock.hpp"
#include "harness/run/partial_items.hpp"
#include "harness/run/write_evaluation.hpp"
#include "results/items.hpp"
#include "results/store.hpp"

namespace nb {
namespace {

constexpr const char* kSuite = "eval";

class EvaluationRun {
 public:
  EvaluationRun(const EvaluationRequest& request, EvalContext context, const AnswerSource& source)
      : request_(request),
        context_(std::move(context)),
        source_(source),
        key_(make_key()),
        folder_(node_folder(request.results_dir, kSuite, source_.label, key_)) {
    outcome_.folder = folder_;
  }

  Result<EvaluationOutcome> run(const AnswerFunction& answer) {
    NB_TRY(const NodeLock lock, NodeLock::acquire(shard_lock_folder(), tell_of_wait()));
    const PartialItems partial(folder_, request_.shard, request_.shards);
    if (!request_.fresh) {
      const auto record = finished();
      // A kill between the record and the end leaves the items that it was made of.
      if (record && request_.shards == 1) NB_TRY_VOID(partial.remove());
      if (record) return reused(*record);
    }
    if (request_.fresh) NB_TRY_VOID(partial.begin_again());
    if (source_.opened) partial.attach(context_);
    EvalProgress progress(source_.label);
    context_.progress = std::ref(progress);
    if (context_.done)
      context_.done = [&, read = context_.done](std::string_view task) {
        auto done = read(task);
        if (done) outcome_.items_resumed += std::ssize(*done);
        return done;
      };
    started_ = utc_time_text();
    NB_TRY(std::vector<EvalResult> results, answer(context_));
    if (request_.shards == 1) return finish(results, partial);
    std::int64_t made = -outcome_.items_resumed;
    for (const EvalResult& result : results) made += std::ssize(result.items);
    // Whoever ends last finds the items of all; two that end together do so one after the other.
    NB_TRY(const NodeLock all, NodeLock::acquire(folder_, tell_of_wait()));
    const auto record = finished();
    // An old record is written anew as long as the items of a fresh shard lie beside it.
    if (record && !(request_.fresh && partial.has_own())) return reused(*record);
    context_.progress = nullptr;
    outcome_.items_resumed = -made;  // found too, but not from elsewhere
    NB_TRY(results, answer(context_));
    return finish(results, partial);
  }

 private:
  std::function<void(const std::string& holder)> tell_of_wait() const {
    return [this](const std::string& holder) {
      if (progress_mode() != ProgressMode::kQuiet)
        say_on_stderr(
            fmt::format("{}: waiting for {}, which works on it\n", folder_.string(), holder));
    };
  }

  // Shards work beside each other; each has its own lock.
  fs::path shard_lock_folder() const {
    if (request_.shards == 1) return folder_;
    return folder_.parent_path() /
           fmt::format("{}.{}-of-{}", folder_.filename().string(), request_.shard, request_.shards);
  }

  // The record of this evaluation when it is there with all its files.
  std::optional<Record> finished() const {
    if (!has_record(folder_)) return std::optional<Record>();
    auto record = read_record(folder_);  // a damaged one is written anew
    if (!record || record->status != "ok" || !verify_artifacts({*record, folder_}))
      return std::optional<Record>();
    return std::optional<Record>(std::move(*record));
  }

  Result<EvaluationOutcome> finish(std::span<const EvalResult> results,
                                   const PartialItems& partial) {
    outcome_.is_complete = true;
    for (const EvalResult& result : results) {
      outcome_.items_done += std::ssize(result.items);
      outcome_.items_expected += result.items_expected;
      outcome_.is_complete = outcome_.is_complete && result.is_complete();
    }
    if (!outcome_.is_complete) return std::move(outcome_);
    NB_TRY_VOID(write(results));
    NB_TRY_VOID(partial.remove());
    return std::move(outcome_);
  }

  Result<EvaluationOutcome> reused(const Record& record) {
    outcome_.is_reused = outcome_.is_complete = true;
    outcome_.record = record;
    for (const auto& [task, file] : record.items) {
      NB_TRY(const auto items, read_items(folder_ / file));
      outcome_.items_done += std::ssize(items);
    }
    outcome_.items_expected = outcome_.items_resumed = outcome_.items_done;
    return std::move(outcome_);
  }

  Json settings_json() const {
    Json json = print_struct(context_.settings);
    json["faults"] = request_.faults;
    return json;
  }

  std::string make_key() const {
    Json json{{"kind", "eval"},
              {"settings", settings_json()},
              {"weights", source_.weights},
              {"code", code_digest(NodeKind::kEval)}};
    if (source_.opened) {
      json["tokenizer"] = source_.opened->tokenizer->hash();
      json["checkpoint"] = *source_.opened->checkpoint;
      json["parents"] = source_.opened->parents;
      if (source_.opened->resolved) json["device"] = source_.opened->resolved->content;
      if (source_.opened->microworld) json["microworld"] = print_struct(context_.microworld);
    }
    return sha256_json(json);
  }

  Result<void> write(std::span<const EvalResult> results) {
    Record record;
    record.kind = info(NodeKind::kEval).name;
    record.name = kSuite;
    record.node_key = key_;
    record.settings = settings_json();
    record.subject = {{"weights", source_.weights}, {"code", code_digest(NodeKind::kEval)}};
    if (source_.opened) {
      record.device = source_.opened->device;
      record.trained_on = source_.opened->trained_on;
      record.seed = source_.opened->seed;
      record.parents = source_.opened->parents;
      record.checkpoint = source_.opened->checkpoint;
      if (source_.opened->resolved)
        describe_device(*source_.opened->resolved, uses_of(results), /*cards=*/1, record);
    }
    NB_TRY_VOID(write_evaluation(results, folder_, record));
    Json environment = environment_of(NodeKind::kEval);
    environment.update(*record.environment);
    environment["started_at"] = started_;
    environment["finished_at"] = utc_time_text();
    record.environment = environment;
    NB_TRY_VOID(write_record(folder_, record));
    NB_TRY(outcome_.record, read_record(folder_));
    return {};
  }

  const EvaluationRequest& request_;
  EvalContext context_;
  const AnswerSource& source_;
  std::string key_;
  fs::path folder_;
  std::string started_;
  EvaluationOutcome outcome_;
};

}  // namespace

Result<EvaluationOutcome> run_in_folder(const EvaluationRequest& request, EvalContext context,
                                        const AnswerSource& source, const AnswerFunction& answer) {
  return EvaluationRun(request, std::move(context), source).run(answer);
}

}  // namespace nb
