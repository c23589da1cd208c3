#include "results/import/lm_eval.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>

#include "harness/base/fs.hpp"
#include "results/foreign/lines.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

constexpr std::size_t kLmEvalHash = 12;
constexpr std::int64_t kYear10000 = 253402300800;  // in seconds since 1970

// A text or an object, as the releases have it.
std::map<std::string, std::string> model_arguments(const Json& config) {
  const Json& stated = member_of(config, "model_args");
  if (!stated.is_object()) return lm_eval_arguments(text_of(stated));
  std::map<std::string, std::string> arguments;
  for (const auto& [key, value] : stated.items()) arguments[key] = text_of(value);
  return arguments;
}

std::string model_of(const LmEvalResults& results,
                     const std::map<std::string, std::string>& arguments) {
  if (const std::string name = text_of(member_of(*results.json, "model_name")); !name.empty())
    return name;
  return lm_eval_model(arguments);
}

// 1.0 and 1 are one version.
std::string version_text(const Json& value) {
  double number = 0;
  if (value.is_number() && number_of(value, number) && number == std::floor(number))
    return fmt::format("{:.0f}", number);
  return text_of(value);
}

std::string shots_of(const LmEvalResults& results, const std::string& task) {
  const Json& json = *results.json;
  const Json& stated = member_of(member_of(json, "n-shot"), task);
  if (stated.is_number()) return version_text(stated);
  const Json& own = member_of(member_of(member_of(json, "configs"), task), "num_fewshot");
  if (own.is_number()) return version_text(own);
  const Json& all = member_of(member_of(json, "config"), "num_fewshot");
  return all.is_number() ? version_text(all) : "";
}

// "2 x NVIDIA A100-SXM4-80GB" from the text that torch.utils.collect_env prints.
std::string accelerators_in(const std::string& environment) {
  std::map<std::string, int> cards;
  for (std::size_t at = environment.find("GPU "); at != environment.npos;
       at = environment.find("GPU ", at + 1)) {
    std::size_t colon = at + 4;
    while (colon < environment.size() && environment[colon] >= '0' && environment[colon] <= '9')
      ++colon;
    if (colon == at + 4 || !environment.substr(colon).starts_with(": ")) continue;
    const std::size_t end = std::min(environment.find('\n', colon), environment.size());
    ++cards[environment.substr(colon + 2, end - colon - 2)];
  }
  std::string text;
  for (const auto& [name, count] : cards)
    text += fmt::format("{}{} x {}", text.empty() ? "" : ", ", count, name);
  return text;
}

std::string after(const std::string& text, std::string_view label) {
  const std::size_t at = text.find(label);
  if (at == text.npos) return {};
  const std::size_t begin = at + label.size();
  return text.substr(begin, text.find('\n', begin) - begin);
}

// A hash that is null where there is no template; files before it came have no such key.
void say_hash(ForeignBuilder& builder, ForeignRun& run, const std::string& name, const Json& json,
              const std::string& key) {
  if (!json.contains(key)) return;
  const std::string hash = text_of(json.at(key));
  builder.say(run, name, hash.empty() ? "none" : hash.substr(0, kLmEvalHash));
}

void say_provenance(const LmEvalResults& results,
                    const std::map<std::string, std::string>& arguments, ForeignRun& run,
                    ForeignBuilder& builder) {
  const Json& json = *results.json;
  const Json& config = member_of(json, "config");
  const auto say = [&](const std::string& key, const Json& value) {
    builder.say(run, key, text_of(value));
  };
  const bool is_03 = !json.contains("configs");
  builder.say(run, "version", is_03 ? "0.3" : text_of(member_of(json, "lm_eval_version")));
  say("commit", member_of(json, "git_hash"));
  say("backend", member_of(config, "model"));
  say("device", member_of(config, "device"));
  std::string dtype = text_of(member_of(config, "model_dtype"));
  if (dtype.empty() && arguments.contains("dtype")) dtype = arguments.at("dtype");
  builder.say(run, "dtype", dtype.starts_with("torch.") ? dtype.substr(6) : dtype);
  say("batch_size", member_of(config, "batch_size"));
  say("limit", member_of(config, "limit"));
  say("weights", member_of(config, "model_sha"));
  builder.say(run, "model_args", lm_eval_other_arguments(arguments));
  if (const Json& settings = member_of(config, "gen_kwargs"); !settings.empty())
    say("generation", settings);
  say("max_length", member_of(json, "max_length"));
  say_hash(builder, run, "template", json, "chat_template_sha");
  say_hash(builder, run, "system_instruction", json, "system_instruction_sha");
  say("fewshot_as_multiturn", member_of(json, "fewshot_as_multiturn"));
  if (const Json& seed = member_of(config, "random_seed"); !seed.is_null())
    builder.say(run, "seed",
                fmt::format("{}, numpy {}, torch {}, few-shot {}", text_of(seed),
                            text_of(member_of(config, "numpy_seed")),
                            text_of(member_of(config, "torch_seed")),
                            text_of(member_of(config, "fewshot_seed"))));
  if (const std::int64_t date = count_of(member_of(json, "date")); date > 0 && date < kYear10000)
    builder.say(run, "date",
                fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(date))));
  const std::string environment = text_of(member_of(json, "pretty_env_info"));
  builder.say(run, "torch", after(environment, "PyTorch version: "));
  builder.say(run, "accelerator", accelerators_in(environment));
  say("transformers", member_of(json, "transformers_version"));
}

// What renders an item's prompt, as one short hash.
std::string prompt_template(const Json& config) {
  if (!config.is_object()) return {};
  std::string text;
  for (const char* key : {"doc_to_text", "doc_to_target", "doc_to_choice", "description",
                          "target_delimiter", "fewshot_delimiter", "gen_prefix"})
    text += fmt::format("{}: {}\n", key, text_of(member_of(config, key)));
  return content_hash(text).substr(0, kLmEvalHash);
}

// As the file says it; empty: it does not.
std::optional<Direction> stated_direction(const LmEvalResults& results, const SeriesName& name) {
  const Json& stated =
      member_of(member_of(member_of(*results.json, "higher_is_better"), name.task), name.metric);
  if (!stated.is_boolean()) return std::nullopt;
  return stated.get<bool>() ? Direction::kHigher : Direction::kLower;
}

// The tasks and groups that a group's row is the mean of.
std::vector<std::string> members_of(const Json& json, const std::string& group) {
  std::vector<std::string> members;
  const Json& listed = member_of(member_of(json, "group_subtasks"), group);
  if (listed.is_array())
    for (const Json& one : listed)
      if (one.is_string() && one != group) members.push_back(one.get<std::string>());
  return members;
}

// The innermost group with a total of that metric (a key of its row) that holds the task's.
std::string group_of(const LmEvalResults& results, const std::string& task,
                     const std::string& key) {
  std::string innermost;
  std::size_t fewest = 0;
  const auto groups = results.groups_of.find(task);
  if (groups == results.groups_of.end()) return innermost;
  const Json& rows = member_of(*results.json, "results");
  for (const auto& [group, members] : groups->second) {
    double number = 0;
    if (!number_of(member_of(member_of(rows, group), key), number)) continue;
    if (innermost.empty() || members < fewest) {
      innermost = group;
      fewest = members;
    }
  }
  return innermost;
}

LmEvalResults::Groups groups_by_task(const Json& json) {
  LmEvalResults::Groups groups;
  const Json& listed = member_of(json, "group_subtasks");
  if (!listed.is_object()) return groups;
  for (const auto& [group, tasks] : listed.items()) {
    const std::vector<std::string> members = members_of(json, group);
    for (const std::string& task : members) {
      auto& of_task = groups[task];
      if (of_task.empty() || of_task.back().first != group)
        of_task.emplace_back(group, members.size());
    }
  }
  return groups;
}

// Items behind a task's total; of a group those of all its tasks. 0: not said, or not of all.
// known: of the groups below it, which may hold each other.
std::int64_t count_of_task(const Json& json, const std::string& task, const std::string& key,
                           std::map<std::string, std::int64_t>& known, int depth = 0) {
  constexpr int kDeepest = 8;  // mmlu, its four fields, their subjects: three
  if (const auto at = known.find(task); at != known.end()) return at->second;
  const Json& row = member_of(member_of(json, "results"), task);
  std::int64_t n = count_of(member_of(member_of(member_of(json, "n-samples"), task), "effective"));
  if (n == 0) n = count_of(member_of(member_of(row, "sample_count"), key));
  if (n == 0) n = count_of(member_of(row, "sample_len"));
  if (n > 0 || depth == kDeepest) return n;
  for (const std::string& member : members_of(json, task)) {
    const std::int64_t part = count_of_task(json, member, key, known, depth + 1);
    if (part == 0) return 0;
    if (n > std::numeric_limits<std::int64_t>::max() - part) return 0;  // groups of themselves
    n += part;
  }
  known[task] = n;
  return n;
}

}  // namespace

LmEvalName lm_eval_name(const fs::path& path) {
  // _2026-01-21T03-44-18, then perhaps .458309
  constexpr std::string_view kForm = "_dddd-dd-ddTdd-dd-dd";
  const bool is_packed = path.extension() == ".gz";  // samples_….jsonl.gz
  const std::string stem = (is_packed ? path.stem() : path).stem().string();
  for (std::size_t at = stem.rfind('_'); at != stem.npos && at > 0; at = stem.rfind('_', at - 1)) {
    if (stem.size() < at + kForm.size()) continue;
    bool is_stamp = true;
    for (std::size_t i = 0; i < kForm.size(); ++i)
      is_stamp = is_stamp && (kForm[i] == 'd' ? stem[at + i] >= '0' && stem[at + i] <= '9'
                                              : stem[at + i] == kForm[i]);
    if (is_stamp) return {stem.substr(0, at), stem.substr(at + 1)};
  }
  return {stem, ""};
}

Result<LmEvalResults> parse_lm_eval_results(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(auto json, builder.shared_json(path, NotNumbers::kAsTexts));
  if (!member_of(*json, "results").is_object())
    return bad_input(fmt::format("{}: /results is no object of tasks", path.string()));
  LmEvalResults::Groups groups = groups_by_task(*json);
  return LmEvalResults{path, std::move(json), std::move(groups)};
}

bool has_lm_eval_task(const LmEvalResults& results, const std::string& task) {
  return member_of(*results.json, "results").contains(task);
}

std::optional<SeriesName> lm_eval_series(const std::string& task, const std::string& key) {
  const std::size_t comma = key.rfind(',');
  SeriesName name{task, comma == key.npos ? "" : key.substr(comma + 1), key.substr(0, comma)};
  if (name.filter == "none") name.filter.clear();
  for (const char* other : {"", " ", "alias", "name", "sample_len", "sample_count"})
    if (name.metric == other) return std::nullopt;
  if (name.metric.ends_with("_stderr")) return std::nullopt;
  return name;
}

ForeignRun& lm_eval_run(const LmEvalResults& results, const std::string& task,
                        ForeignBuilder& builder) {
  const Json& config = member_of(*results.json, "config");
  const auto arguments = model_arguments(config);
  std::string stage = text_of(member_of(config, "model_revision"));
  if (stage.empty() && arguments.contains("revision")) stage = arguments.at("revision");
  if (stage == "main") stage.clear();
  const std::string model = model_of(results, arguments);
  const std::string shots = shots_of(results, task);
  const auto run_of = [&](const std::string& of_stage) -> ForeignRun& {
    return model.empty()
               ? lm_eval_folder_run(fs::absolute(results.path).parent_path(), of_stage, builder)
               : builder.run(kLmEval, model, of_stage);
  };
  ForeignRun* run = &run_of(stage);
  const auto has_other_shots = [&](const ForeignSeries* one) {
    const auto at = one->must_match.find("shots");
    return at != one->must_match.end() && at->second != shots;
  };
  if (std::ranges::any_of(builder.series_of_task(*run, task), has_other_shots))
    run = &run_of(fmt::format("{}{}{}-shot", stage, stage.empty() ? "" : ".", shots));
  if (std::find(run->files.begin(), run->files.end(), results.path) == run->files.end()) {
    run->files.push_back(results.path);
    say_provenance(results, arguments, *run, builder);
  }
  return *run;
}

void state_lm_eval_task(const LmEvalResults& results, const std::string& task, ForeignRun& run,
                        ForeignBuilder& builder) {
  const Json& json = *results.json;
  const Json& row = member_of(member_of(json, "results"), task);
  const Json& config = member_of(member_of(json, "configs"), task);
  const Json& samples = member_of(member_of(json, "n-samples"), task);
  for (const auto& [key, value] : row.items()) {
    const auto name = lm_eval_series(task, key);
    if (!name || (value.is_string() && value.get<std::string>() == " ")) continue;
    ForeignSeries& series = builder.series(run, *name);
    double number = 0;
    if (is_not_number(value))
      builder.note(
          run, message("import.left_out", results.path.string(), task + " " + key, text_of(value)));
    if (number_of(value, number)) {
      if (series.reported && *series.reported != number)
        builder.note(run, message("import.two_values", task + " " + key,
                                  fmt::format("{}", *series.reported), fmt::format("{}", number)));
      else
        series.reported = number;
    }
    const std::size_t comma = std::min(key.rfind(','), key.size());
    const std::string stderr_key = key.substr(0, comma) + "_stderr" + key.substr(comma);
    if (number_of(member_of(row, stderr_key), number)) series.reported_stderr = number;
    series.direction = stated_direction(results, *name);
    std::map<std::string, std::int64_t> known;
    series.reported_n = count_of_task(json, task, key, known);
    series.part_of = group_of(results, task, key);
    series.available_n = count_of(member_of(samples, "original"));
    const auto must = [&](const char* what, const std::string& text) {
      if (!text.empty()) series.must_match[what] = text;
    };
    must("shots", shots_of(results, task));
    must("version", version_text(member_of(member_of(json, "versions"), task)));
    must("samples", version_text(member_of(config, "repeats")));
  }
  builder.say(run, "template:" + task, prompt_template(config));
  builder.say(run, "task_hash:" + task,
              text_of(member_of(member_of(json, "task_hashes"), task)).substr(0, kLmEvalHash));
  const Json& generation = member_of(config, "generation_kwargs");
  if (generation.is_object())
    for (const auto& [key, value] : generation.items())
      builder.say(run, fmt::format("{}:{}", key, task), text_of(value));
  mark_primary(run, task, builder);
}

void mark_primary(ForeignRun& run, const std::string& task, ForeignBuilder& builder) {
  const auto rank = [](const SeriesName& name) {
    int metric = 3;
    if (name.metric == "acc_norm") metric = 0;
    if (name.metric == "acc") metric = 1;
    if (name.metric == "exact_match") metric = 2;
    const int filter = name.filter.find("strict") != name.filter.npos ? 0
                       : name.filter.empty()                          ? 1
                                                                      : 2;
    return std::tuple(metric, filter);
  };
  ForeignSeries* first = nullptr;
  for (ForeignSeries* one : builder.series_of_task(run, task)) {
    one->primary = false;
    if (first == nullptr || rank(one->name) < rank(first->name)) first = one;
  }
  if (first != nullptr) first->primary = true;
}

std::map<std::string, std::string> lm_eval_arguments(const std::string& text) {
  std::map<std::string, std::string> arguments;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    if (const std::size_t sign = part.find('='); sign != part.npos)
      arguments[part.substr(0, sign)] = part.substr(sign + 1);
    begin = end + 1;
  }
  return arguments;
}

namespace {

// In the order in which the harness itself looks for it:
// lm_eval/loggers/evaluation_tracker.py @ 4e7e0d47f, GeneralConfigTracker.
constexpr const char* kModelKeys[] = {"peft", "delta", "pretrained", "model", "path", "engine"};

}  // namespace

std::string lm_eval_model(const std::map<std::string, std::string>& arguments) {
  for (const char* key : kModelKeys)
    if (const auto at = arguments.find(key); at != arguments.end() && !at->second.empty())
      return at->second;
  return {};
}

std::string lm_eval_other_arguments(const std::map<std::string, std::string>& arguments) {
  std::string rest;
  for (const auto& [key, value] : arguments) {
    const bool is_model =
        std::find(std::begin(kModelKeys), std::end(kModelKeys), key) != std::end(kModelKeys);
    if (!is_model && key != "dtype" && key != "revision")
      rest += fmt::format("{}{}={}", rest.empty() ? "" : ",", key, value);
  }
  return rest;
}

ForeignRun& lm_eval_folder_run(const fs::path& folder, const std::string& stage,
                               ForeignBuilder& builder) {
  const fs::path whole = fs::absolute(folder);
  const std::string name = whole.filename().string();
  if (name.find("__") != name.npos) return builder.run(kLmEval, lm_eval_folder_model(whole), stage);
  ForeignRun& run = builder.file_run(kLmEval, "", stage, whole, name);
  std::erase(run.files, whole);
  return run;
}

std::string lm_eval_folder_model(const fs::path& folder) {
  std::string name = folder.filename().string();
  if (const std::size_t at = name.find("__"); at != name.npos) name.replace(at, 2, "/");
  return name.empty() || name == "." ? "model" : name;
}

}  // namespace nb
