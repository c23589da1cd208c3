#include "evals/core/core_yaml.hpp"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>
#include <utility>

#include "evals/core/task.hpp"
#include "harness/base/fields.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

// "has_categories" asks the reference for a table by category beside the score, never for another
// score.
const std::vector<std::string>& known_keys() {
  static const std::vector<std::string> keys = {
      "label",         "dataset_uri", "num_fewshot", "icl_task_type", "continuation_delimiter",
      "has_categories"};
  return keys;
}

std::vector<std::string> known_types() {
  std::vector<std::string> types;
  for (const auto type :
       {CoreTaskType::kMultipleChoice, CoreTaskType::kSchema, CoreTaskType::kLanguageModelling})
    types.emplace_back(name(type));
  return types;
}

std::string at_line(const fs::path& file, const YAML::Mark& mark) {
  return mark.is_null() ? file.string() : fmt::format("{}:{}", file.string(), mark.line + 1);
}

template <class T>
Result<T> value_of(const YAML::Node& task, const char* key, const fs::path& file) {
  const YAML::Node node = task[key];
  if (!node)
    return bad_input(fmt::format("{}: the task has no \"{}\"", at_line(file, task.Mark()), key));
  try {
    return node.as<T>();
  } catch (const YAML::Exception&) {  // yaml-cpp knows no other way to say it
    return bad_input(
        fmt::format("{}: \"{}\" has a value of the wrong kind", at_line(file, node.Mark()), key));
  }
}

// Keys of a map: each once and, where unknown ones are refused, each known.
Result<void> check_keys(const YAML::Node& map, const std::vector<std::string>& known,
                        const fs::path& file) {
  std::set<std::string> seen;
  for (const auto& entry : map) {
    const std::string where = at_line(file, entry.first.Mark());
    if (!entry.first.IsScalar()) return bad_input(where + ": a key must be a word");
    const std::string key = entry.first.Scalar();
    if (!seen.insert(key).second)
      return bad_input(fmt::format("{}: the key \"{}\" appears twice", where, key));
    if (std::ranges::find(known, key) == known.end())
      return bad_input(
          fmt::format("{}: unknown key \"{}\"{}", where, key, did_you_mean(key, known)));
  }
  return {};
}

Result<int> shots_of(const YAML::Node& node, const std::string& label, const fs::path& file) {
  std::vector<int> shots;
  if (const YAML::Node value = node["num_fewshot"]; value && value.IsScalar()) {
    NB_TRY(const int one, value_of<int>(node, "num_fewshot", file));
    shots = {one};
  } else {
    NB_TRY(shots, value_of<std::vector<int>>(node, "num_fewshot", file));
  }
  if (shots.size() == 1 && shots[0] >= 0) return shots[0];
  return bad_input(fmt::format("{}: num_fewshot of {} must be a list of one number",
                               at_line(file, node.Mark()), label));
}

Result<YamlTask> parse_task(const YAML::Node& node, const fs::path& file, UnknownKeys unknown) {
  if (!node.IsMap())
    return bad_input(at_line(file, node.Mark()) + ": a task must be a map with label and more");
  if (unknown == UnknownKeys::kRefused) NB_TRY_VOID(check_keys(node, known_keys(), file));
  YamlTask task;
  task.line = node.Mark().line + 1;
  NB_TRY(task.label, value_of<std::string>(node, "label", file));
  NB_TRY(task.dataset_uri, value_of<std::string>(node, "dataset_uri", file));
  task.dataset_uri_line = node["dataset_uri"].Mark().line + 1;
  NB_TRY(task.type, value_of<std::string>(node, "icl_task_type", file));
  const std::vector<std::string> types = known_types();
  if (unknown == UnknownKeys::kRefused && std::ranges::find(types, task.type) == types.end())
    return bad_input(
        fmt::format("{}: icl_task_type \"{}\" is not scored here{} (known: {}, {}, {})",
                    at_line(file, node["icl_task_type"].Mark()), task.type,
                    did_you_mean(task.type, types), types[0], types[1], types[2]));
  NB_TRY(task.shots, shots_of(node, task.label, file));
  if (node["continuation_delimiter"]) {
    NB_TRY(task.delimiter, value_of<std::string>(node, "continuation_delimiter", file));
  }
  return task;
}

}  // namespace

Result<std::vector<YamlTask>> parse_core_yaml(std::string_view text, const fs::path& file,
                                              UnknownKeys unknown) {
  YAML::Node root;
  try {
    root = YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    return bad_input(fmt::format("{}: {}", at_line(file, error.mark), error.msg));
  }
  if (!root.IsMap() || !root["icl_tasks"] || !root["icl_tasks"].IsSequence())
    return bad_input(file.string() + ": no list \"icl_tasks\"");
  if (unknown == UnknownKeys::kRefused) NB_TRY_VOID(check_keys(root, {"icl_tasks"}, file));
  std::vector<YamlTask> tasks;
  for (const YAML::Node& node : root["icl_tasks"]) {
    NB_TRY(YamlTask task, parse_task(node, file, unknown));
    if (std::ranges::find(tasks, task.label, &YamlTask::label) != tasks.end())
      return bad_input(
          fmt::format("{}: the task {} appears twice", at_line(file, node.Mark()), task.label));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

}  // namespace nb
