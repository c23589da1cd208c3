// One training from flags: a suite of one node is made of them and run, so results, resume and
// reuse are those of `npubench run`.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/base/fs.hpp"
#include "harness/base/locations.hpp"
#include "harness/base/progress.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/cli/common.hpp"
#include "harness/cli/planted_ends.hpp"
#include "harness/cli/verb.hpp"
#include "harness/run/preflight.hpp"
#include "harness/run/step_profile.hpp"
#include "harness/suite/load.hpp"
#include "results/store/metric_names.hpp"
#include "results/store/store.hpp"
#include "results/text/format.hpp"

namespace nb::cli {
namespace {

struct TrainOptions {
  std::string suite;  // file whose corpus, tokenizer and settings are taken
  std::string device;
  std::string seed;
  std::string name;
  std::string vocab_size;
  std::vector<std::string> data;             // texts instead of the microworld
  std::map<std::string, std::string> given;  // field of TrainSettings → text
  std::vector<std::string> sets, faults;
  std::string results_dir, data_dir;
  bool save_init = false, profile = false, fresh = false, json = false, quiet = false;
};

constexpr const char* kDefaults = R"({
  "name": "train",
  "devices": ["ascend_910b3"],
  "corpus": {"microworld": {}},
  "tokenizer": {"vocab_size": 512},
  "stages": {"base": {"depth": 4, "sequence_len": 256, "device_batch_size": 8, "total_batch_tokens": 16384,
                      "iterations": 20, "eval_every": 0, "eval_tokens": 16384, "sample_every": 0}}})";
constexpr const char* kKeepSteps = "keep_steps";
constexpr const char* kTextVocabulary = "4096";  // a microworld has not enough words for it

std::string json_text(const std::vector<std::string>& texts) {
  return Json(texts).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// "[0,10,20]" of --save-init and --keep-steps 10,20; empty: neither was given.
std::string keep_steps_json(const TrainOptions& options) {
  const auto given = options.given.find(kKeepSteps);
  std::string steps = given == options.given.end() ? "" : given->second;
  if (steps.starts_with('[') && steps.ends_with(']')) steps = steps.substr(1, steps.size() - 2);
  if (options.save_init) steps = steps.empty() ? "0" : "0," + steps;
  return steps.empty() ? "" : "[" + steps + "]";
}

// What the flags change, in the words of --set; those of --set itself come last.
Result<std::vector<Override>> overrides_of(const TrainOptions& options) {
  std::vector<Override> changes;
  const auto change = [&](const std::string& pointer, const std::string& value) {
    if (!value.empty()) changes.push_back({pointer, value});
  };
  if (!options.data.empty()) {
    change("/corpus", "{\"text\": {\"sources\": " + json_text(options.data) + "}}");
    if (options.suite.empty()) change("/tokenizer/vocab_size", kTextVocabulary);
  }
  change("/tokenizer/vocab_size", options.vocab_size);
  change("/devices", options.device.empty() ? "" : json_text({options.device}));
  change("/seeds", options.seed.empty() ? "" : "[" + options.seed + "]");
  for (const auto& [field, value] : options.given)
    if (field != kKeepSteps) change("/stages/base/" + field, value);
  change(std::string("/stages/base/") + kKeepSteps, keep_steps_json(options));
  for (const std::string& text : options.sets) {
    NB_TRY(Override own, parse_override(text));
    changes.push_back(std::move(own));
  }
  return changes;
}

Result<Suite> suite_of(const TrainOptions& options) {
  const std::string where = options.suite.empty() ? "train" : options.suite;
  NB_TRY(Json json, options.suite.empty() ? parse_json(kDefaults, "train")
                                          : read_json(options.suite, JsonComments::kAllowed));
  if (!json.is_object()) return bad_input(where + ": not a suite: expected a JSON object");
  // One training alone; --set may bring the rest back.
  for (const char* rest : {"evaluations", "microbenchmarks", "predictions"}) json.erase(rest);
  for (const char* list : {"devices", "seeds"})
    if (json.contains(list) && json[list].is_array() && json[list].size() > 1)
      json[list] = Json::array({json[list].front()});
  NB_TRY(const std::vector<Override> changes, overrides_of(options));
  NB_TRY(json, with_overrides(std::move(json), changes, where));
  if (!options.name.empty()) json["name"] = options.name;  // parse_suite knows what is a name
  NB_TRY(Suite suite, parse_suite(std::move(json), where));
  if (!suite.stages.base)
    return bad_input(where + ": /stages/base: missing, so there is nothing to train");
  // Of its own, so that the suite's list of nodes stays what `npubench run` wrote.
  suite.name = !options.name.empty()
                   ? options.name
                   : fmt::format("{}-d{}", options.suite.empty() ? "train" : suite.name + "-train",
                                 suite.stages.base->settings.depth);
  return suite;
}

const NodeReport* train_report(const Plan& plan, const RunSummary& summary) {
  const NodeReport* found = nullptr;
  for (const NodeReport& report : summary.nodes)
    if (plan.nodes[report.node].kind() == NodeKind::kTrain) found = &report;
  return found;
}

const Metric* metric(const std::vector<Metric>& metrics, std::string_view name) {
  for (const Metric& one : metrics)
    if (one.name == name && one.value) return &one;
  return nullptr;
}

std::string record_text(const Record& record) {
  TextTable table{{"trained", "clock", ""}, {}};
  const auto row = [&](const char* label, const char* clock, const std::string& value) {
    table.rows.push_back({label, clock, value});
  };
  const auto add = [&](const char* label, const char* name, const char* clock) {
    if (const Metric* one = metric(record.metrics, name)) row(label, clock, value_text(*one));
  };
  add("parameters", "parameters", "");
  add("tokens", "tokens", "");
  add("last loss", "train_loss", "");
  add("validation", "val_bpb", "");
  add("step time", "step_time_ns", "sim");
  add("throughput", "throughput_tok_s", "sim");
  add("peak memory", "peak_memory_bytes", "sim");
  if (const Metric* one = metric(record.host_metrics, "train_host_time_s")) {
    row("training took", "host", human_time_ns(*one->value * 1e9));
    const Metric* tokens = metric(record.metrics, metric::kTokens);
    const Metric* all = metric(record.metrics, metric::kTrainTime);
    if (tokens != nullptr && all != nullptr && all->n == one->n)
      row("throughput with validation", "host", human_rate(*tokens->value / *one->value, "tok/s"));
  }
  return to_text(table, output_width());
}

Result<std::optional<StepProfile>> profile_in(const fs::path& folder, bool wanted) {
  if (!wanted) return std::optional<StepProfile>();
  const fs::path file = folder / kProfileJson;
  NB_TRY(const Json json, read_json(file));
  NB_TRY(StepProfile profile, parse_step_profile(json, file.string()));
  return std::optional<StepProfile>(std::move(profile));
}

int finish(const TrainOptions& options, const Plan& plan, const RunSummary& summary) {
  const PlantedEnds ends = planted_ends(plan, summary);
  if (!options.json) say("{}", ends.text);
  if (!ends.text.empty() && std::ranges::any_of(summary.nodes, is_ended_by_fault))
    return ends.exit_code;
  for (const NodeReport& report : summary.nodes)
    if (report.outcome == NodeOutcome::kFailed)
      return fail({report.error, plan.nodes[report.node].name + ": " + report.message});
  const NodeReport* trained = train_report(plan, summary);
  if (trained == nullptr) return fail({ErrorCode::kRun, "train: the plan has no training"});
  const auto record = read_record(trained->folder);
  if (!record) return fail(record.error());
  const auto profile = profile_in(trained->folder, options.profile);
  if (!profile) return fail(profile.error());
  if (options.json) {
    const auto json = record_json(*record);
    if (!json) return fail(json.error());
    Json all{{"folder", trained->folder.string()},
             {"outcome", name(trained->outcome)},
             {"record", *json}};
    if (*profile) all["profile"] = to_json(**profile);
    return print_json(all);
  }
  say("{}", record_text(*record));
  if (*profile) {
    say("\n{}\nmean of {} at level {} with {}; peak of that level: {}\npicture: {}\n",
        to_text(profile_table(**profile), output_width()), count_text((*profile)->steps, "step"),
        (*profile)->simd, count_text((*profile)->threads, "thread"),
        human_rate(1e9 * (*profile)->peak_gflop_s, "flop/s"),
        (trained->folder / kProfileSvg).string());
  }
  say("{}: {}\n", trained->outcome == NodeOutcome::kReused ? "existed already" : "results",
      trained->folder.string());
  return kExitOk;
}

int train_verb(const TrainOptions& options) {
  if (options.quiet) set_progress_mode(ProgressMode::kQuiet);
  const auto suite = suite_of(options);
  if (!suite) return fail(suite.error());
  RunOptions run;
  run.results_dir = results_folder(options.results_dir);
  run.data_dir = data_folder(options.data_dir);
  run.fresh = options.fresh || options.profile;  // what is reused has no host time
  run.profiles_host = options.profile;
  run.quiet = options.quiet;
  const auto plan = make_plan(*suite, {run.data_dir, options.faults}, suite->name);
  if (!plan) return fail(plan.error());
  const Forecast expected = forecast(*plan, run);
  if (!options.quiet) say_on_stderr(fmt::format("{}: {}\n", suite->name, forecast_text(expected)));
  if (const auto ready = preflight(*plan, run, expected); !ready) return fail(ready.error());
  const auto summary = run_plan(*plan, run);
  if (!summary) return fail(summary.error());
  return finish(options, *plan, *summary);
}

}  // namespace

Action add_train(CLI::App& app) {
  auto options = std::make_shared<TrainOptions>();
  app.add_option("--suite", options->suite,
                 "suite file whose corpus, tokenizer, first device, first seed and training "
                 "settings are used; flags override them");
  app.add_option("--device", options->device,
                 "profile (npubench list devices; default: ascend_910b3)");
  app.add_option("--data", options->data,
                 "train on texts: names from `npubench data list`, or your own files and folders "
                 "(default: a generated microworld)");
  app.add_option(
         "--vocab-size", options->vocab_size,
         "size of the tokenizer's vocabulary, trained first (default: 512; with --data 4096)")
      ->type_name("INT");
  const Json defaults = Json::parse(kDefaults).at("stages").at("base");
  TrainSettings plain;
  const Json values = print_struct(plain);
  for (const Field& field : TrainSettings{}.fields()) {
    if (field.name == "seed") continue;
    std::string flags = flag_of(field.name);
    if (field.name == "device_batch_size") flags += ",--device-batch";
    if (field.name == "iterations") flags += ",--steps";
    const Json& from = defaults.contains(field.name) ? defaults : values;
    const auto value = from.find(field.name);
    app.add_option(flags, options->given[field.name],
                   value == from.end() ? field.doc
                                       : fmt::format("{} (default: {})", field.doc, value->dump()))
        ->type_name(value_name(field));
  }
  app.add_flag("--save-init", options->save_init,
               "keep the checkpoint of the initial weights: --keep-steps 0");
  app.add_option("--seed", options->seed, "seed of the initial weights (default: 1)")
      ->type_name("INT")
      ->check(whole_seed());
  app.add_option("--set", options->sets,
                 "change one value of the suite: /pointer=value; repeatable, after the flags");
  app.add_option("--fault", options->faults,
                 "plant a fault in ranks that train together: kind:key=value,… (npubench list "
                 "faults); repeatable. --set '/devices/0={\"profile\":\"ascend_910b3\",\"mesh\":"
                 "{\"dp\":8}}' has eight");
  app.add_option("--name", options->name, "folder in the results folder (default: train-d<depth>)");
  app.add_option("--results-dir", options->results_dir,
                 "where runs are kept (default: NPUBENCH_RESULTS, else results/runs)");
  app.add_option("--data-dir", options->data_dir,
                 "public data (default: NPUBENCH_DATA, else ~/.cache/npubench/data)");
  app.add_flag("--profile", options->profile,
               "how the host spends the time of a step, by op: a table, host_profile.json and "
               "host_profile.svg. Trains again even if the result exists");
  app.add_flag("--fresh", options->fresh, "reuse nothing");
  app.add_flag("--json", options->json, "JSON on stdout: the record, and the profile");
  app.add_flag("--quiet", options->quiet, "no progress on stderr");
  add_compute_options(app);
  app.footer(
      "Interrupted trainings resume: run the same command again.\n"
      "Exit codes: 0 trained, 4 it failed, 64 bad usage or input.");
  return [options] { return train_verb(*options); };
}

}  // namespace nb::cli
