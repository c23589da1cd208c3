#include "evals/core/bundle.hpp"

#include <fmt/core.h>

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
  NB_TRY(std::vector<YamlTask> tasks, parse_core_yaml(yaml, yaml_path, UnknownKeys::kIgnored));
  for (YamlTask& task : tasks) bundle.tasks.push_back({std::move(task), 0});
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
