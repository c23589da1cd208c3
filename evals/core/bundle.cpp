#include "evals/core/bundle.hpp"

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/table.hpp"

namespace nb {
namespace {

// core.yaml and eval_meta_data.csv lie in one folder; eval_data/ beside them or elsewhere.
constexpr std::array kFolders = {"", "eval_bundle", "core/eval_bundle_meta"};

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

Result<BundleTask> parse_task(const YAML::Node& node, const fs::path& file) {
  if (!node.IsMap())
    return bad_input(at_line(file, node.Mark()) + ": a task must be a map with label and more");
  BundleTask task;
  NB_TRY(task.label, value_of<std::string>(node, "label", file));
  NB_TRY(task.dataset_uri, value_of<std::string>(node, "dataset_uri", file));
  NB_TRY(task.type, value_of<std::string>(node, "icl_task_type", file));
  NB_TRY(const auto shots, value_of<std::vector<int>>(node, "num_fewshot", file));
  if (shots.size() != 1 || shots[0] < 0)
    return bad_input(fmt::format("{}: num_fewshot of {} must be a list of one number",
                                 at_line(file, node.Mark()), task.label));
  task.shots = shots[0];
  if (node["continuation_delimiter"]) {
    NB_TRY(task.delimiter, value_of<std::string>(node, "continuation_delimiter", file));
  }
  return task;
}

Result<std::vector<BundleTask>> parse_yaml(std::string_view text, const fs::path& file) {
  YAML::Node root;
  try {
    root = YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    return bad_input(fmt::format("{}: {}", at_line(file, error.mark), error.msg));
  }
  if (!root.IsMap() || !root["icl_tasks"] || !root["icl_tasks"].IsSequence())
    return bad_input(file.string() + ": no list \"icl_tasks\"");
  std::vector<BundleTask> tasks;
  for (const YAML::Node& node : root["icl_tasks"]) {
    NB_TRY(BundleTask task, parse_task(node, file));
    if (std::any_of(tasks.begin(), tasks.end(),
                    [&](const BundleTask& other) { return other.label == task.label; }))
      return bad_input(
          fmt::format("{}: the task {} appears twice", at_line(file, node.Mark()), task.label));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

Result<double> number(const std::string& text, const std::string& where) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !(value >= 0 && value < 100))
    return bad_input(fmt::format("{}: \"{}\" is not a percentage below 100", where, text));
  return value;
}

Result<void> add_baselines(std::vector<BundleTask>& tasks, std::string_view text,
                           const fs::path& file) {
  NB_TRY(const CsvTable table, parse_csv(text, file.string()));
  NB_TRY(const std::size_t name, table.column("Eval Task"));
  NB_TRY(const std::size_t baseline, table.column("Random baseline"));
  for (BundleTask& task : tasks) {
    const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                  [&](const auto& cells) { return cells[name] == task.label; });
    if (row == table.rows.end())
      return bad_input(
          fmt::format("{}: no row for {}, which core.yaml names", file.string(), task.label));
    NB_TRY(task.baseline_percent,
           number((*row)[baseline], fmt::format("{}: {}", file.string(), task.label)));
  }
  return {};
}

}  // namespace

const BundleTask* CoreBundle::find(std::string_view label) const {
  const auto found = std::find_if(tasks.begin(), tasks.end(),
                                  [&](const BundleTask& task) { return task.label == label; });
  return found == tasks.end() ? nullptr : &*found;
}

Result<CoreBundle> parse_core_bundle(std::string_view yaml, std::string_view csv,
                                     const fs::path& yaml_path, const fs::path& csv_path) {
  CoreBundle bundle{yaml_path, csv_path, {}};
  NB_TRY(bundle.tasks, parse_yaml(yaml, yaml_path));
  NB_TRY_VOID(add_baselines(bundle.tasks, csv, csv_path));
  return bundle;
}

Result<std::optional<CoreBundle>> read_core_bundle(const fs::path& data_dir) {
  if (data_dir.empty()) return std::optional<CoreBundle>();
  for (const char* folder : kFolders) {
    const fs::path yaml_path = data_dir / folder / "core.yaml";
    std::error_code error;
    if (!fs::is_regular_file(yaml_path, error)) continue;
    const fs::path csv_path = data_dir / folder / "eval_meta_data.csv";
    NB_TRY(const std::string yaml, read_file(yaml_path));
    NB_TRY(const std::string csv, read_file(csv_path));
    NB_TRY(CoreBundle bundle, parse_core_bundle(yaml, csv, yaml_path, csv_path));
    return std::optional<CoreBundle>(std::move(bundle));
  }
  return std::optional<CoreBundle>();
}

Result<void> check_against_bundle(const CoreTask& task, const CoreBundle& bundle) {
  const auto differs = [&](const fs::path& file, std::string_view what, const std::string& theirs,
                           const std::string& ours) {
    return bad_input(
        fmt::format("{}: {} of {} is {}, in nanochat's bundle it is {}; scores would not be CORE's",
                    file.string(), what, task.core_label, theirs, ours));
  };
  const BundleTask* theirs = bundle.find(task.core_label);
  if (theirs == nullptr)
    return bad_input(fmt::format("{}: names no task {}", bundle.yaml.string(), task.core_label));
  if (theirs->type != name(task.type))
    return differs(bundle.yaml, "icl_task_type", theirs->type, std::string(name(task.type)));
  if (theirs->shots != task.shots)
    return differs(bundle.yaml, "num_fewshot", std::to_string(theirs->shots),
                   std::to_string(task.shots));
  if (theirs->delimiter != task.delimiter)
    return differs(bundle.yaml, "continuation_delimiter", "\"" + theirs->delimiter + "\"",
                   "\"" + std::string(task.delimiter) + "\"");
  if (theirs->baseline_percent != task.baseline_v1 && theirs->baseline_percent != task.baseline_v2)
    return differs(bundle.csv, "the random baseline", number_text(theirs->baseline_percent),
                   number_text(task.baseline_v1));
  return {};
}

}  // namespace nb
