// HELM: a folder a run. Scores item by item are in per_instance_stats.json, totals in stats.json;
// the model and settings in run_spec.json, the texts in scenario_state.json beside them.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_map>

#include "results/foreign/json_slices.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kInstances = "per_instance_stats.json";
constexpr const char* kStats = "stats.json";

// Statistics that say how a run went, not how well the model did: basic_metrics.py,
// efficiency_metrics.py, tokens_metric.py, evaluate_instances_metric.py.
constexpr std::string_view kBookkeeping[] = {"num_references",
                                             "num_train_trials",
                                             "num_train_instances",
                                             "num_instances",
                                             "num_requests",
                                             "num_completions",
                                             "num_prompt_tokens",
                                             "num_completion_tokens",
                                             "max_num_completion_tokens",
                                             "num_output_tokens",
                                             "num_perplexity_tokens",
                                             "num_bytes",
                                             "prompt_length",
                                             "prompt_truncated",
                                             "training_co2_cost",
                                             "training_energy_cost",
                                             "inference_runtime",
                                             "inference_denoised_runtime",
                                             "inference_idealized_runtime",
                                             "batch_size",
                                             "finish_reason_length",
                                             "finish_reason_stop",
                                             "finish_reason_endoftext",
                                             "finish_reason_unknown",
                                             "max_prob",
                                             "logprob",
                                             "predicted_index"};
// Words in the names of statistics where less is better.
constexpr std::string_view kLessIsBetter[] = {"perplexity", "bits_per_byte", "toxic",        "ece_",
                                              "nudity",     "nsfw",          "refusal_error"};
constexpr std::string_view kHeadline = "f1_score";  // of open questions; else the first score

bool is_score(std::string_view name) {
  return std::find(std::begin(kBookkeeping), std::end(kBookkeeping), name) ==
         std::end(kBookkeeping);
}

// "typos", "dialect prob=1 source_class=SAE target_class=AAVE", with "worst" or "original" where a
// statistic is of those instead.
std::string perturbation_text(const Json& perturbation) {
  if (!perturbation.is_object()) return {};
  std::string text = text_of(member_of(perturbation, "name"));
  for (const auto& [key, value] : perturbation.items())
    if (key != "name" && key != "robustness" && key != "fairness" && key != "computed_on" &&
        !value.is_null())
      text += fmt::format(" {}={}", key, text_of(value));
  const std::string on = text_of(member_of(perturbation, "computed_on"));
  return on.empty() || on == "perturbed" ? text : text + " " + on;
}

struct Statistic {
  std::string name, filter;
  std::optional<double> value;  // sum / count; nothing: it was computed of nothing
};

Result<Statistic> statistic_of(const Json& stat, const std::string& where) {
  const Json& name = member_of(stat, "name");
  Statistic statistic{text_of(member_of(name, "name")), text_of(member_of(name, "split")), {}};
  for (const std::string& more :
       {text_of(member_of(name, "sub_split")), perturbation_text(member_of(name, "perturbation"))})
    if (!more.empty()) statistic.filter += (statistic.filter.empty() ? "" : " ") + more;
  double count = 0, sum = 0;
  if (statistic.name.empty() || !number_of(member_of(stat, "count"), count) || count < 0)
    return bad_input(where + ": a statistic has a name and a count");
  if (count == 0) return statistic;
  if (!number_of(member_of(stat, "sum"), sum))
    return bad_input(
        fmt::format("{}: the sum of {} is {}; a finite number is expected", where, statistic.name,
                    member_of(stat, "sum").dump(-1, ' ', false, Json::error_handler_t::replace)));
  statistic.value = sum / count;
  return statistic;
}

// What run_spec.json says, or where there is none the folder's name.
struct Spec {
  std::string task, model;
  Json adapter;
};

// "commonsense:dataset=hellaswag,model=a_b" → "commonsense:dataset=hellaswag"; the model's argument
// may be the first: "narrative_qa:model=a_b".
std::string without_model(const std::string& name, std::string& model) {
  std::string task;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find(',', begin), name.size());
    std::string part = name.substr(begin, end - begin);
    begin = end + 1;
    for (const std::string_view argument : {"model_deployment=", "model="}) {
      const std::size_t at = part.find(argument);
      if (at != 0 && (at == part.npos || (part[at - 1] != ':' && part[at - 1] != '-'))) continue;
      if (argument == "model=") model = part.substr(at + argument.size());
      part.erase(at == 0 ? 0 : at - 1);
    }
    if (!part.empty()) task += (task.empty() ? "" : ",") + part;
  }
  return task;
}

Result<Spec> spec_of(const fs::path& folder) {
  Spec spec;
  std::string name = folder.filename().string();
  std::error_code error;
  if (const fs::path path = folder / "run_spec.json"; fs::exists(path, error)) {
    NB_TRY(const Json json, read_foreign_json(path));
    if (const Json& own = member_of(json, "name"); own.is_string()) name = own.get<std::string>();
    spec.adapter = member_of(json, "adapter_spec");
  }
  spec.task = without_model(name, spec.model);
  if (const Json& model = member_of(spec.adapter, "model"); model.is_string())
    spec.model = model.get<std::string>();
  if (spec.model.empty()) spec.model = name;
  return spec;
}

ForeignRun& run_of(const Spec& spec, const fs::path& path, ForeignBuilder& builder) {
  ForeignRun& run = builder.run("HELM", spec.model);
  run.files.push_back(path);
  const auto say = [&](const char* key, const char* member) {
    const Json& value = member_of(spec.adapter, member);
    if (!value.is_null() && value != "")
      builder.say(run, fmt::format("{} of {}", key, spec.task), text_of(value));
  };
  builder.say(run, "backend", text_of(member_of(spec.adapter, "model_deployment")));
  for (const char* key : {"method", "instructions", "input_prefix", "output_prefix", "temperature",
                          "max_tokens", "num_outputs", "stop_sequences"})
    say(key, key);
  say("limit", "max_eval_instances");
  return run;
}

void mark_series(ForeignSeries& series, const Spec& spec, std::string_view headline) {
  // A whole split's, not a part's or a perturbation's.
  series.primary =
      series.name.metric == headline && series.name.filter.find(' ') == std::string::npos;
  for (const std::string_view word : kLessIsBetter)
    if (series.name.metric.find(word) != std::string::npos) series.direction = Direction::kLower;
  if (const Json& shots = member_of(spec.adapter, "max_train_instances"); !shots.is_null())
    series.must_match["shots"] = text_of(shots);
}

std::string headline_of(const std::vector<Statistic>& statistics) {
  std::string first;
  for (const Statistic& one : statistics) {
    if (one.name == kHeadline) return one.name;
    if (first.empty() && is_score(one.name)) first = one.name;
  }
  return first;
}

// Where each instance's request stands in scenario_state.json. Of several requests an instance
// (one a choice) the first.
class Texts {
 public:
  static Result<Texts> open(const fs::path& path) {
    Texts texts;
    std::error_code error;
    if (!fs::exists(path, error)) return texts;
    texts.where_ = path.string() + ": /request_states";
    NB_TRY(texts.file_, MappedText::open(path));
    NB_TRY(const auto members, slices_of(texts.file_->text(), path.string(), &*texts.file_));
    const auto states = members.find("request_states");
    if (states == members.end()) return texts;
    NB_TRY_VOID(for_each_slice(
        states->second, texts.where_,
        [&](const JsonSlice& state) -> Result<void> {
          const std::string where = fmt::format("{}/{}", texts.where_, state.key);
          NB_TRY(const auto parts, slices_of(state.text, where));
          const auto instance = parts.find("instance");
          if (instance == parts.end()) return bad_input(where + ": has no instance");
          NB_TRY(const Json json, parse_slice(instance->second, where + "/instance"));
          const auto trial = parts.find("train_trial_index");
          texts.states_.try_emplace(
              key(text_of(member_of(json, "id")), member_of(json, "perturbation"),
                  trial == parts.end() ? "0" : trial->second),
              state.text);
          return {};
        },
        &*texts.file_));
    return texts;
  }

  Result<void> fill(ForeignItem& item, const Json& row) const {
    const auto at =
        states_.find(key(text_of(member_of(row, "instance_id")), member_of(row, "perturbation"),
                         text_of(member_of(row, "train_trial_index"))));
    if (at == states_.end()) return {};
    NB_TRY(const Json state, parse_slice(at->second, where_));
    const Json& instance = member_of(state, "instance");
    item.content = text_of(member_of(member_of(instance, "input"), "text"));
    if (item.content.empty()) item.content = text_of(member_of(instance, "input"));
    item.question = item.content;
    const Json& references = member_of(instance, "references");
    if (references.is_array())
      for (const Json& reference : references) {
        const std::string text = text_of(member_of(member_of(reference, "output"), "text"));
        item.content += "\n" + text;
        item.choices.push_back(text);
        const Json& tags = member_of(reference, "tags");
        if (tags.is_array() && std::find(tags.begin(), tags.end(), "correct") != tags.end())
          item.gold += (item.gold.empty() ? "" : " | ") + text;
      }
    item.content += "\n" + item.gold;
    item.prompt = text_of(member_of(member_of(state, "request"), "prompt"));
    const Json& completions = member_of(member_of(state, "result"), "completions");
    if (completions.is_array() && !completions.empty())
      item.response = text_of(member_of(completions[0], "text"));
    if (member_of(state, "reference_index").is_null()) item.prediction = item.response;
    return {};
  }

 private:
  static std::string key(const std::string& id, const Json& perturbation, std::string_view trial) {
    return fmt::format("{}\n{}\n{}", id, trial.empty() ? "0" : trial,
                       perturbation_text(perturbation));
  }
  std::string where_;
  std::optional<MappedText> file_;
  std::unordered_map<std::string, std::string_view> states_;  // looked up only
};

// A list of objects: the first of them, as a file's head.
std::optional<FileHead> first_element(const FileHead& head) {
  const std::size_t at = head.bytes.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (at == std::string_view::npos || head.bytes[at] != '[') return std::nullopt;
  return FileHead{head.path, head.bytes.substr(at + 1), head.whole};
}

}  // namespace

bool is_helm_instances(const FileHead& head) {
  const auto first = first_element(head);
  return first && head_has_key(*first, "instance_id") && head_has_key(*first, "stats");
}

Result<void> read_helm_instances(const fs::path& path, ForeignBuilder& builder) {
  const fs::path folder = fs::absolute(path).parent_path();
  NB_TRY(const Spec spec, spec_of(folder));
  NB_TRY(const Texts texts, Texts::open(folder / "scenario_state.json"));
  NB_TRY(MappedText file, MappedText::open(path));
  ForeignRun* run = nullptr;
  std::string headline;
  std::set<std::string> left_out;
  const auto read_row = [&](const JsonSlice& slice) -> Result<void> {
    if (!builder.may_be_wanted(slice.text, {"instance_id"})) return {};
    const std::string where = fmt::format("{}: /{}", path.string(), slice.key);
    NB_TRY(const Json row, parse_slice(slice.text, where));
    const Json& stats = member_of(row, "stats");
    ForeignItem item;
    item.source_id = text_of(member_of(row, "instance_id"));
    if (item.source_id.empty() || !stats.is_array())
      return bad_input(where + ": an instance has an instance_id and stats");
    if (const Json& trial = member_of(row, "train_trial_index"); trial.is_number_integer())
      item.epoch = count_of(trial) + 1;
    std::vector<Statistic> statistics;
    for (const Json& stat : stats) {
      NB_TRY(auto statistic, statistic_of(stat, where));
      statistics.push_back(std::move(statistic));
    }
    if (headline.empty()) headline = headline_of(statistics);
    std::vector<SeriesValue> values;
    for (const Statistic& one : statistics) {
      if (!is_score(one.name))
        left_out.insert(one.name);
      else if (one.value)
        values.push_back({{spec.task, one.filter, one.name}, *one.value});
    }
    if (values.empty()) return {};
    if (run == nullptr) run = &run_of(spec, path, builder);
    for (const SeriesValue& one : values)
      mark_series(builder.series(*run, one.series), spec, headline);
    NB_TRY_VOID(texts.fill(item, row));
    return builder.add_item(*run, values, item, where);
  };
  NB_TRY_VOID(for_each_slice(file.text(), path.string(), read_row, &file));
  if (!left_out.empty())
    builder.ignore(
        message("import.no_scores", path.string(), fmt::format("{}", fmt::join(left_out, ", "))));
  return {};
}

bool is_helm_stats(const FileHead& head) {
  const auto first = first_element(head);
  return first && head_has_key(*first, "name") && head_has_key(*first, "count") &&
         head_has_key(*first, "sum");
}

Result<void> read_helm_stats(const fs::path& path, ForeignBuilder& builder) {
  const fs::path folder = fs::absolute(path).parent_path();
  NB_TRY(const Spec spec, spec_of(folder));
  NB_TRY(const Json stats, read_foreign_json(path));
  if (!stats.is_array()) return bad_input(path.string() + ": a list of statistics is expected");
  std::vector<Statistic> statistics;
  for (std::size_t i = 0; i < stats.size(); ++i) {
    NB_TRY(auto one, statistic_of(stats[i], fmt::format("{}: /{}", path.string(), i)));
    if (is_score(one.name) && one.value) statistics.push_back(std::move(one));
  }
  if (statistics.empty()) return {};
  ForeignRun& run = run_of(spec, path, builder);
  const std::string headline = headline_of(statistics);
  for (const Statistic& one : statistics) {
    const SeriesName name{spec.task, one.filter, one.name};
    const bool has_items = std::any_of(run.series.begin(), run.series.end(),
                                       [&](const ForeignSeries& at) { return at.name == name; });
    ForeignSeries& series = builder.series(run, name);
    series.reported = one.value;
    if (!has_items) mark_series(series, spec, headline);
  }
  return {};
}

bool is_helm_setting(const FileHead& head) {
  return (head_has_key(head, "adapter_spec") &&
          (head_has_key(head, "scenario_spec") || head_has_key(head, "request_states"))) ||
         (head_has_key(head, "definition_path") && head_has_key(head, "tags"));
}

Result<void> read_helm_setting(const fs::path& path, ForeignBuilder& builder) {
  const fs::path folder = fs::absolute(path).parent_path();
  std::error_code error;
  if (!fs::exists(folder / kInstances, error) && !fs::exists(folder / kStats, error))
    builder.ignore(message("import.no_helm_scores", path.string(), kInstances, kStats));
  return {};
}

}  // namespace nb
