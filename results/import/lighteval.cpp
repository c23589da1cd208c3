// huggingface/lighteval: results_<time>.json, and details where they are JSON lines (Parquet is not
// read). Tasks are named "arc:challenge|25", in releases before 0.12 "leaderboard|arc:challenge|25"
// or "…|25|0".
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/base/fs.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/lm_eval.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

constexpr const char* kLighteval = "lighteval";
constexpr std::size_t kLightEvalHash = 12;

struct TaskName {
  std::string name;   // with its suite, where it has one: suites differ in prompts
  std::string shots;  // empty: not said
};

bool is_count(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

TaskName task_name(const std::string& key) {
  std::vector<std::string> parts(1);
  for (const char c : key) {
    if (c == '|')
      parts.emplace_back();
    else
      parts.back() += c;
  }
  TaskName task;
  // "suite|task|shots|whether shots may be dropped"
  if (parts.size() == 4 && is_count(parts[3])) parts.pop_back();
  if (parts.size() > 1 && is_count(parts.back())) {
    task.shots = parts.back();
    parts.pop_back();
  }
  task.name = fmt::format("{}", fmt::join(parts, "|"));
  return task;
}

// The configuration of a task: under its whole key, or without the shots.
const Json& task_config(const Json& results, const std::string& key) {
  const Json& all = member_of(results, "config_tasks");
  const Json& whole = member_of(all, key);
  return whole.is_object() ? whole : member_of(all, task_name(key).name);
}

// Which way is better as its list of metrics says; empty: it says nothing.
std::optional<Direction> stated_direction(const Json& config, const std::string& metric) {
  for (const char* list : {"metrics", "metric"})
    for (const Json& one : member_of(config, list)) {
      const Json& said = member_of(one, "higher_is_better");
      const Json& inner = member_of(said, metric);
      const bool is_own = member_of(one, "metric_name") == metric && said.is_boolean();
      if (!is_own && !inner.is_boolean()) continue;
      return (is_own ? said : inner).get<bool>() ? Direction::kHigher : Direction::kLower;
    }
  return std::nullopt;
}

// Settings that are null are as if they were not there.
Json without_nulls(const Json& value) {
  if (!value.is_object()) return value;
  Json kept = Json::object();
  for (const auto& [key, member] : value.items())
    if (!member.is_null()) kept[key] = member;
  return kept.empty() ? Json() : kept;
}

void say_provenance(const Json& general, ForeignRun& run, ForeignBuilder& builder) {
  const Json& model = member_of(general, "model_config");
  const auto first_said = [&](const char* key, std::initializer_list<const Json*> values) {
    for (const Json* value : values)
      if (const std::string text = text_of(without_nulls(*value)); !text.empty() && text != "?")
        return builder.say(run, key, text.starts_with("torch.") ? text.substr(6) : text);
  };
  first_said("commit", {&member_of(general, "lighteval_sha")});
  first_said("dtype", {&member_of(general, "model_dtype"), &member_of(model, "dtype")});
  first_said("batch_size",
             {&member_of(general, "override_batch_size"), &member_of(model, "batch_size")});
  first_said("limit", {&member_of(general, "max_samples")});
  first_said("weights", {&member_of(general, "model_sha")});
  first_said("revision", {&member_of(model, "revision")});
  first_said("seed", {&member_of(model, "seed")});
  first_said("generation", {&member_of(model, "generation_parameters")});
  first_said("template",
             {&member_of(model, "use_chat_template"), &member_of(model, "override_chat_template")});
  first_said("system_instruction", {&member_of(model, "system_prompt")});
}

void state_task(const Json& results, const std::string& key, const Json& row, ForeignRun& run,
                ForeignBuilder& builder) {
  const TaskName task = task_name(key);
  const Json& config = task_config(results, key);
  for (const auto& [metric, value] : row.items()) {
    if (metric.ends_with("_stderr")) continue;
    ForeignSeries& series = builder.series(run, {task.name, "", metric});
    double number = 0;
    if (number_of(value, number)) series.reported = number;
    if (is_not_number(value))
      run.notes.push_back(message("import.left_out_in", key + " " + metric, text_of(value),
                                  run.files.back().string()));
    if (number_of(member_of(row, metric + "_stderr"), number)) series.reported_stderr = number;
    series.direction = stated_direction(config, metric);
    series.reported_n = count_of(member_of(config, "effective_num_docs"));
    series.available_n = count_of(member_of(config, "original_num_docs"));
    if (!task.shots.empty()) series.must_match["shots"] = task.shots;
    std::string version = text_of(member_of(member_of(results, "versions"), key));
    if (version.empty()) version = text_of(member_of(config, "version"));
    if (!version.empty()) series.must_match["version"] = version;
  }
  const Json& hashes = member_of(member_of(member_of(results, "summary_tasks"), key), "hashes");
  builder.say(run, "template:" + task.name,
              text_of(member_of(hashes, "hash_full_prompts")).substr(0, kLightEvalHash));
  builder.say(run, "task_hash:" + task.name,
              text_of(member_of(hashes, "hash_examples")).substr(0, kLightEvalHash));
  mark_primary(run, task.name, builder);
  // "mmlu:_average|5" repeats what the rows of its subjects say.
  if (task.name.ends_with(":_average"))
    for (ForeignSeries* one : builder.series_of_task(run, task.name)) one->primary = false;
}

// …/details/<org>/<model>/<time>/details_<task>_<time>.jsonl
std::string model_of_details(const fs::path& path) {
  const fs::path folder = fs::absolute(path).parent_path();
  const bool is_timed =
      !lm_eval_name("details_" + folder.filename().string() + ".jsonl").stamp.empty();
  const fs::path model = is_timed ? folder.parent_path() : folder;
  const fs::path above = model.parent_path();
  if (above.parent_path().filename() == "details")
    return (above.filename() / model.filename()).string();
  return lm_eval_folder_model(model);
}

ForeignItem item_of(const Json& doc, const Json& response) {
  ForeignItem item;
  item.source_id = text_of(member_of(doc, "id"));
  const Json& choices = member_of(doc, "choices");
  item.gold = text_of(member_of(doc, "gold_index"));
  item.content = text_of(member_of(doc, "query")) + "\n";
  item.question = text_of(member_of(doc, "query"));
  for (const Json& choice : choices) {
    item.choices.push_back(text_of(choice));
    item.content += item.choices.back() + "\n";
  }
  item.content += item.gold;
  const Json& input = member_of(response, "input");
  item.prompt = text_of(input.is_null() ? member_of(doc, "query") : input);
  std::vector<double> scores;
  for (const Json& one : member_of(response, "logprobs")) {
    double number = 0;
    if (number_of(one, number)) scores.push_back(number);
  }
  if (scores.size() == choices.size() && scores.size() > 1) {
    item.log_probs.assign(scores.begin(), scores.end());
    item.prediction =
        fmt::format("{}", std::max_element(scores.begin(), scores.end()) - scores.begin());
    return item;
  }
  const Json& texts = member_of(response, "text");
  const Json& extracted = member_of(response, "text_post_processed");
  if (!texts.empty() && texts.is_array()) item.response = text_of(texts[0]);
  item.prediction = extracted.is_array() && !extracted.empty() ? text_of(extracted[0]) : "";
  return item;
}

class DetailsReader {
 public:
  DetailsReader(const fs::path& path, ForeignBuilder& builder)
      : path_(path),
        builder_(builder),
        run_(builder.run(kLighteval, model_of_details(path))),
        stamp_(lm_eval_name(path).stamp) {
    run_.files.push_back(path);
  }

  Result<void> take(const Json& row, const std::string& where) {
    const Json& doc = member_of(row, "doc");
    const TaskName task = task_name(text_of(member_of(doc, "task_name")));
    if (task.name.empty()) return bad_input(where + ": /doc/task_name is missing");
    const auto [at, is_new] = tasks_.try_emplace(task.name, true);
    if (is_new) at->second = builder_.is_latest(run_, task.name, stamp_, path_);
    if (!at->second) return {};
    const ForeignItem item = item_of(doc, member_of(row, "model_response"));
    if (item.source_id.empty()) return bad_input(where + ": /doc/id is missing");
    std::vector<SeriesValue> values;
    for (const auto& [metric, value] : member_of(row, "metric").items()) {
      double number = 0;
      if (is_not_number(value))
        return bad_input(fmt::format("{}: {} is {}; put null there to leave it out", where, metric,
                                     text_of(value)));
      if (number_of(value, number))
        values.push_back({{task.name, "", metric}, number});
      else
        no_scores_.insert(metric);
    }
    if (values.empty()) return {};
    NB_TRY_VOID(builder_.add_item(run_, values, item, where));
    if (is_new && !task.shots.empty())
      for (const SeriesValue& one : values)
        builder_.series(run_, one.series).must_match["shots"] = task.shots;
    return {};
  }

  void end() {
    for (const std::string& metric : no_scores_)
      builder_.ignore(message("import.no_item_values", path_.string(), metric));
    for (const auto& [task, is_latest] : tasks_) mark_primary(run_, task, builder_);
  }

 private:
  fs::path path_;
  ForeignBuilder& builder_;
  ForeignRun& run_;
  std::string stamp_;
  std::map<std::string, bool> tasks_;  // whether no later file has them
  std::set<std::string> no_scores_;
};

}  // namespace

bool is_lighteval_results(const FileHead& head) {
  return head_has_key(head, "config_general") && (head_has_key(head, "results") || !head.whole);
}

Result<void> read_lighteval_results(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const Json results, read_foreign_json(path, NotNumbers::kAsTexts));
  const Json& rows = member_of(results, "results");
  if (!rows.is_object())
    return bad_input(fmt::format("{}: /results is no object of tasks", path.string()));
  const Json& general = member_of(results, "config_general");
  std::string model = text_of(member_of(general, "model_name"));
  if (model.empty()) model = text_of(member_of(member_of(general, "model_config"), "model_name"));
  if (model.empty()) model = lm_eval_folder_model(fs::absolute(path).parent_path());
  ForeignRun& run = builder.run(kLighteval, model);
  run.files.push_back(path);
  say_provenance(general, run, builder);
  const std::string stamp = lm_eval_name(path).stamp;
  for (const auto& [key, row] : rows.items()) {
    if (!row.is_object())
      return bad_input(fmt::format("{}: /results/{} is no object of metrics", path.string(), key));
    if (key == "all") continue;  // the mean of everything, whatever it measures
    if (builder.is_latest(run, task_name(key).name, stamp, path))
      state_task(results, key, row, run, builder);
  }
  return {};
}

bool is_lighteval_details(const FileHead& head) {
  constexpr std::string_view kKeys[] = {"doc", "model_response", "metric"};
  const std::string_view line = head.bytes.substr(0, head.bytes.find('\n'));
  // A long answer may push the metric out of the head.
  return head_is_jsonl_with(head, kKeys) ||
         (line.size() == head.bytes.size() && !head.whole && head_has_key(head, "doc") &&
          head_has_key(head, "model_response"));
}

Result<void> read_lighteval_details(const fs::path& path, ForeignBuilder& builder) {
  DetailsReader reader(path, builder);
  NB_TRY_VOID(for_each_json_line(
      path, [&](const Json& row, const std::string& where) { return reader.take(row, where); },
      NotNumbers::kAsTexts));
  reader.end();
  return {};
}

}  // namespace nb
