#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "evals/base/part_metrics.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/locations.hpp"
#include "harness/base/progress.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/from_accuracies.hpp"
#include "harness/cli/verb.hpp"
#include "harness/cli/write_out.hpp"
#include "harness/remote/method.hpp"
#include "harness/run/evaluation.hpp"
#include "harness/run/write_evaluation.hpp"
#include "results/store/metric_names.hpp"

namespace nb::cli {
namespace {

constexpr std::int64_t kShownItems = 3;
constexpr const char* kNoValue = "true";  // CLI11's text of an option that was given without one

struct EvalOptions {
  EvaluationRequest request;
  std::string results_dir;
  std::string data_dir;
  std::string write_out;  // how many items; empty or kNoValue: kShownItems
  bool writes_out = false;
  std::string accuracies;  // a table: composites of it, and nothing is evaluated
  bool json = false;
  bool quiet = false;
};

// "mw/facts" of "mw/facts/accuracy", "core" of "core".
std::string task_of(const Metric& metric) { return metric.name.substr(0, metric.name.rfind('/')); }

// A subject of MMLU, a file of texts; an empty part: the metric is of a whole task.
struct Part {
  std::string task, part;
};
Part part_of_metric(const Record& record, const Metric& metric) {
  for (const auto& [task, file] : record.items)
    if (const std::string_view part = part_of(metric.name, task); !part.empty())
      return {task, std::string(part)};
  return {};
}

// A share, or how many items.
std::string value_of(const Metric& metric) {
  return fmt::format("{:.{}f}", *metric.value, metric.unit == "item" ? 0 : 6);
}

// One row per metric that has a value; the interval where there is one. "of": items, or tasks of a
// composite.
TextTable metrics_table(const Record& record) {
  TextTable table{{"metric", "value", "95 % interval", "of"}, {}};
  for (const Metric& m : record.metrics)
    if (m.value && part_of_metric(record, m).part.empty())
      table.rows.push_back({m.name, value_of(m),
                            m.low && m.high ? fmt::format("[{:.4f}, {:.4f}]", *m.low, *m.high) : "",
                            m.n > 0 ? with_commas(m.n) : ""});
  return table;
}

// Of each task that has parts, a row a part.
std::vector<TextTable> part_tables(const Record& record) {
  std::vector<TextTable> tables;
  std::string task;
  for (const Metric& m : record.metrics) {
    const Part of = part_of_metric(record, m);
    if (!m.value || of.part.empty()) continue;
    const bool is_share = m.unit == "1";
    if (of.task != task) {
      task = of.task;
      const std::string score = m.name.substr(m.name.rfind('/') + 1);
      tables.push_back(is_share ? TextTable{{"of " + task, "items", score, "standard error"}, {}}
                                : TextTable{{"of " + task, "bytes", score}, {}});
    }
    std::vector<std::string> row = {of.part, with_commas(m.n), value_of(m)};
    if (is_share) {
      const auto error = standard_error(m);
      row.push_back(error ? fmt::format("{:.6f}", *error) : "");
    }
    tables.back().rows.push_back(std::move(row));
  }
  return tables;
}

// "core, core_v2: none: <reason>": metrics without a value, those with one reason together.
std::vector<std::string> why_none(const Record& record) {
  std::vector<std::pair<std::string, std::string>> by_reason;  // reason, names
  for (const Metric& m : record.metrics) {
    if (m.value) continue;
    const auto same = std::find_if(by_reason.begin(), by_reason.end(),
                                   [&](const auto& one) { return one.first == m.reason_if_null; });
    if (same == by_reason.end())
      by_reason.emplace_back(m.reason_if_null, m.name);
    else
      same->second += ", " + m.name;
  }
  std::vector<std::string> lines;
  for (const auto& [reason, names] : by_reason)
    lines.push_back(fmt::format("{}: none: {}", names, reason));
  return lines;
}

// What a newcomer would ask about the counts.
std::vector<std::string> notes(const Record& record) {
  constexpr std::pair<const char*, const char*> kNotes[] = {
      {metric::kLeftOut, "items have no completions and are not scored"},
      {metric::kCutPrompts, "prompts were truncated to the model's context"},
      {metric::kAlwaysRight, "items are right whatever the model answers (evals/core/README.md)"},
      {metric::kAlwaysWrong, "items are wrong whatever the model answers (evals/core/README.md)"},
  };
  std::vector<std::string> lines;
  for (const Metric& m : record.metrics)
    for (const auto& [name, meaning] : kNotes)
      if (m.value && *m.value > 0 && m.name == metric::of_task(task_of(m), name))
        lines.push_back(
            fmt::format("{}: {} of {} {}", task_of(m), value_of(m), with_commas(m.n), meaning));
  return lines;
}

Json metrics_json(const Record& record) {
  Json list = Json::array();
  for (const Metric& m : record.metrics) {
    Json entry{{"name", m.name}, {"task", task_of(m)}, {"n", m.n}, {"unit", m.unit}};
    entry["value"] = optional_json(m.value);
    if (!m.value) entry["reason"] = m.reason_if_null;
    if (m.low && m.high) entry["interval95"] = {*m.low, *m.high};
    if (const Part of = part_of_metric(record, m); !of.part.empty()) {
      entry["task"] = of.task;
      entry["part"] = of.part;
      if (const auto error = standard_error(m); error && m.unit == "1")
        entry["standard_error"] = *error;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

Json outcome_json(const EvaluationOutcome& outcome) {
  return {{"folder", outcome.folder.string()},
          {"complete", outcome.is_complete},
          {"reused", outcome.is_reused},
          {"items", outcome.items_done},
          {"items_expected", outcome.items_expected},
          {"items_resumed", outcome.items_resumed},
          {"changed", outcome.is_reused ? Json() : Json(outcome.changed)},
          {"notes", outcome.notes},
          {"metrics", metrics_json(outcome.record)}};
}

int print_outcome(const EvaluationOutcome& outcome, const EvalOptions& options) {
  if (options.json) return print_json(outcome_json(outcome));
  for (const std::string& change : outcome.changed) say_line("{}", change);
  if (!options.request.rescore.empty() && outcome.is_reused)
    say("rescored before; the changes were listed then (--fresh lists them again)\n");
  else if (!options.request.rescore.empty())
    say("{} of {} scored differently than before\n", outcome.changed.size(),
        count_text(outcome.items_done, "item"));
  if (outcome.is_complete) {
    say("{}", to_text(metrics_table(outcome.record), output_width()));
    for (const TextTable& table : part_tables(outcome.record))
      say("\n{}\n", to_text(table, output_width()));
    for (const std::string& line : outcome.notes) say_line("{}", line);
    for (const std::string& line : notes(outcome.record)) say_line("{}", line);
    for (const std::string& line : why_none(outcome.record)) say_line("{}", line);
  } else {
    say("shard {} of {} is done: {} of {} items exist; run the same command for the other shards\n",
        options.request.shard, options.request.shards, outcome.items_done, outcome.items_expected);
  }
  say_line("{}{}; results: {}", count_text(outcome.items_done, "item"),
           outcome.is_reused ? ", reused"
           : outcome.items_resumed > 0
               ? fmt::format(", {} of them from an earlier run", outcome.items_resumed)
               : "",
           outcome.folder.string());
  return kExitOk;
}

int print(const EvaluationOutcome& outcome, const EvalOptions& options) {
  const int printed = print_outcome(outcome, options);
  const std::string unscored = unscored_text(outcome.record);
  return printed != kExitOk || unscored.empty() ? printed : fail({ErrorCode::kRun, unscored});
}

int write_out(const EvalOptions& options) {
  const bool is_given = options.write_out != kNoValue && !options.write_out.empty();
  const auto tasks =
      prompts_of(options.request, is_given ? std::stoll(options.write_out) : kShownItems);
  if (!tasks) return fail(tasks.error());
  if (options.json) return print_json(write_out_json(*tasks));
  say("{}", write_out_text(*tasks));
  return kExitOk;
}

int eval(EvalOptions options) {
  if (options.quiet) set_progress_mode(ProgressMode::kQuiet);
  options.request.results_dir = results_folder(options.results_dir);
  options.request.data_dir = data_folder(options.data_dir);
  if (!options.accuracies.empty()) return eval_from_accuracies(options.accuracies, options.json);
  if (options.writes_out) return write_out(options);
  // Of a server: enough that its places stay filled to the end of a batch.
  constexpr std::int64_t kItemsAPlace = 4;
  options.request.batch_items = std::max<std::int64_t>(
      32, options.request.server.url.empty() ? options.request.model.batch
                                             : kItemsAPlace * options.request.server.concurrency);
  const auto outcome = run_evaluation(options.request);
  if (!outcome) return fail(outcome.error());
  return print(*outcome, options);
}

void add_settings(CLI::App& app, EvalSettings& settings) {
  app.add_option("--task", settings.tasks,
                 "tasks or sets of tasks, separated by commas (npubench list tasks)")
      ->delimiter(',');
  app.add_option(
         "--task-file", settings.task_files,
         "your own tasks: a YAML file in the form of DCLM's core.yaml, its dataset_uri "
         "relative to it; repeatable; all its tasks, or those that --task names as own/LABEL")
      ->type_name("FILE");
  app.add_option("--text", settings.texts,
                 "with --task bpb: a UTF-8 text, or a JSONL with \"text\" in each line, whose bits "
                 "per byte are measured; repeatable")
      ->type_name("FILE");
  app.add_option(
         "--window", settings.window,
         "with --task bpb: tokens that are scored together, for instance the sequence length "
         "of the training (default: what the model's context holds)")
      ->check(whole(2));
  app.add_option("--num-fewshot", settings.num_fewshot,
                 "few-shot examples in place of the CORE-style tasks' own number; the result is "
                 "never compared with one of another number")
      ->check(whole(0, kMaxFewShot));
  app.add_option(
         "--max-per-task", settings.max_per_task,
         "items of each task to keep (default: all); the result is never compared with a full one")
      ->check(whole(1));
  app.add_option("--baselines", settings.baselines,
                 "accuracies of guessing in CORE: nanochat's table (v1) or DCLM's later one (v2)")
      ->capture_default_str()
      ->check(CLI::IsMember({"v1", "v2"}));
  app.add_option("--max-new-tokens", settings.max_new_tokens, "longest generated answer, in tokens")
      ->capture_default_str()
      ->check(whole(1));
  app.add_option("--samples", settings.num_samples,
                 "completions per item; it is right if any of them is")
      ->capture_default_str()
      ->check(whole(1, 1000));
  app.add_option("--temperature", settings.temperature, "of sampling; 0: the most likely token")
      ->capture_default_str()
      ->check(within(0, 100));
  app.add_option("--top-k", settings.top_k, "sample from this many most likely tokens; 0: from all")
      ->capture_default_str()
      ->check(whole(0, kMaxTopK));
  app.add_option("--seed", settings.sample_seed, "of sampling")
      ->capture_default_str()
      ->check(whole_seed());
}

void add_server_options(CLI::App& app, ServerChoice& server) {
  app.add_option("--server", server.url,
                 "base URL of an OpenAI-compatible server that is asked instead of a model here: "
                 "http://gpu:8000/v1; with --tokenizer FILE, or --tokenizer server");
  app.add_option("--server-model", server.model,
                 "id of the model there (default: the only one that it serves)");
  app.add_option("--key-env", server.key_env,
                 "environment variable that holds the server's key; it is written nowhere")
      ->type_name("VAR");
  app.add_option("--ca-file", server.ca_file,
                 "PEM file of the authorities to trust for https (default: the system's)")
      ->type_name("FILE");
  app.add_option("--method", server.method,
                 "how tasks are scored: auto takes the best that the server can do; another one is "
                 "forced on every task that has it, to ask two servers alike")
      ->capture_default_str()
      ->check(CLI::IsMember(method_names()));
  app.add_option("--chat", server.chat,
                 "whose template makes prompts of conversations: here nanochat's, sent as ids; "
                 "server: messages are sent to its chat endpoint")
      ->capture_default_str()
      ->check(CLI::IsMember({"here", "server"}));
  app.add_option("--concurrency", server.concurrency, "requests under way at once, at most")
      ->capture_default_str()
      ->check(whole(1, 256));
  app.add_option("--tries", server.tries, "of each request that fails in passing")
      ->capture_default_str()
      ->check(whole(1, 100));
  app.add_option("--timeout", server.timeout_seconds,
                 "seconds to wait for an answer, and 0.05 more for each token asked for")
      ->capture_default_str()
      ->check(within(0.1, 86400));
  app.add_option(
         "--server-context", server.context,
         "tokens that the server's context holds, where it does not say so or less is meant")
      ->check(whole(2));
  app.add_option(
         "--world", server.world,
         "with mw/… tasks of a server: folder of the training whose generated world they ask "
         "about")
      ->type_name("DIR");
}

}  // namespace

Action add_eval(CLI::App& app) {
  auto options = std::make_shared<EvalOptions>();
  EvaluationRequest& request = options->request;
  CLI::Option* model = app.add_option(
      "--model", request.model.model,
      "a training's folder, a checkpoint, a captured one (harness/capture), a Hugging Face folder "
      "of gpt2 or llama, a llama2.c model, or oracle, chance, corrupted");
  add_settings(app, request.settings);
  add_server_options(app, request.server);
  CLI::Option* write_out =
      app.add_option("--write-out", options->write_out,
                     "show the prompts of the first N items of every task (default: 3), with what "
                     "is scored and what is right, and score nothing")
          ->type_name("[N]")
          ->optional_value()
          ->check(CLI::Validator([](const std::string& text) {
            return text.empty() || text == kNoValue ? "" : whole(1)(text);
          }));
  CLI::Option* completions =
      app.add_option("--completions", request.completions,
                     "score existing completions instead of a model: JSONL with {\"task_id\", "
                     "\"completion\"} per line");
  app.add_option(
      "--completions-member", request.completions_member,
      "member of each line that holds the completion, where several models share a file");
  app.add_option("--completions-form", request.completions_form,
                 "how they are read: answer (a chat model's, code in Markdown fences), completion "
                 "(continues the prompt), program (whole functions), auto (by what they look "
                 "like)")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "answer", "completion", "program"}));
  app.add_flag("--ignore-incomplete", request.ignore_incomplete,
               "items without completions are not scored, and counted in the record");
  CLI::Option* rescore =
      app.add_option("--rescore", request.rescore,
                     "score the stored completions of an evaluation again: its folder");
  app.add_option("--from-accuracies", options->accuracies,
                 "evaluate nothing: CORE (v1, v2) and ChatCORE with intervals from a table of "
                 "accuracies (CSV task,accuracy[,n]; all that npubench audit reads)")
      ->type_name("TABLE")
      ->excludes(model)
      ->excludes(completions)
      ->excludes(rescore)
      ->excludes(write_out);
  app.add_option("--step", request.model.step,
                 "which of a training's checkpoints (default: the last; see train --keep-steps)")
      ->check(whole(0));
  app.add_option("--device", request.model.device,
                 "profile to run on (default: the one that trained the model)");
  app.add_option(
      "--tokenizer", request.model.tokenizer,
      "tokenizer file (default: the run's, or the one beside the checkpoint); with --server "
      "also server: it encodes and decodes all texts (POST /tokenize, /detokenize)");
  app.add_option("--batch", request.model.batch,
                 "sequences at a time; changes no result, but on cpu_ref")
      ->check(whole(1, 4096));
  app.add_flag_callback(
      "--each-alone", [options] { options->request.model.shares_prefixes = false; },
      "score every prompt on its own, without shared prefixes: slower, for comparison; changes no "
      "result, but on cpu_ref");
  app.add_option(
         "--shards", request.shards,
         "processes that share the work in one --results-dir; changes no result, but on cpu_ref")
      ->check(whole(1, 100000));
  app.add_option("--shard", request.shard, "number of this process, from 0")->check(whole(0));
  app.add_option("--fault", request.faults,
                 "plant a fault: kind:target (npubench list faults); repeatable");
  add_compute_options(app);
  app.add_option("--name", request.suite,
                 "folder below the results folder; evaluations of one model and one set of tasks "
                 "in one folder supersede each other")
      ->capture_default_str();
  app.add_option("--results-dir", options->results_dir,
                 "where runs are kept (default: NPUBENCH_RESULTS, else results/runs)");
  app.add_option("--data-dir", options->data_dir,
                 "public data (default: NPUBENCH_DATA, else ~/.cache/npubench/data)");
  app.add_flag("--fresh", request.fresh, "reuse nothing");
  app.add_flag("--json", options->json, "JSON on stdout");
  app.add_flag("--quiet", options->quiet, "no progress on stderr");
  app.footer(
      "Examples:\n"
      "  npubench eval --model DIR --task-file my_tasks.yaml --num-fewshot 5\n"
      "  npubench eval --model DIR --task mmlu:anatomy --write-out 1\n"
      "  npubench eval --model DIR --task gsm8k:majority --samples 8 --temperature 0.7\n"
      "  npubench eval --model DIR --task bpb --text notes.txt\n"
      "  npubench eval --from-accuracies scores.csv\n"
      "  npubench eval --server http://npu:8000/v1 --server-model Qwen2-7B --tokenizer "
      "tokenizer.json \\\n"
      "      --task core,gsm8k --name npu        then compare results/runs/gpu results/runs/npu\n"
      "accuracy: share of items answered correctly. centred: 0 is guessing, 1 is all correct.\n"
      "TASK:PART is a part of a task (a subject of mmlu) or another way to score it "
      "(gsm8k:flexible: the last number anywhere; gsm8k:majority: the number that most samples "
      "give).\n"
      "An interrupted evaluation resumes at the next item: give the same command again.\n"
      "Exit codes: 0 done, 4 something failed on this computer, or a task has no score because the "
      "model's numbers are not finite or a server does not tell them, 64 bad usage or input.");
  return [options, write_out] {
    options->writes_out = write_out->count() > 0;
    return eval(*options);
  };
}

}  // namespace nb::cli
