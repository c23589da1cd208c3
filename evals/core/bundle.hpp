// nanochat's evaluation bundle as it is: core.yaml (which tasks, how many shots),
// eval_meta_data.csv (baselines), eval_data/ (rows). nanochat's base_eval.py. The program's own
// table (task_table.hpp) says the same; a bundle that says otherwise is named, never followed in
// silence.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "evals/core/core_yaml.hpp"
#include "evals/core/task.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct BundleTask : YamlTask {  // dataset_uri is under eval_data/
  double baseline_percent = 0;  // "Random baseline"
};

struct CoreBundle {
  std::filesystem::path yaml;  // where it was found, for messages
  std::filesystem::path csv;
  std::vector<BundleTask> tasks;                         // in the order of core.yaml
  const BundleTask* find(std::string_view label) const;  // nullptr: there is none
};

// The two files' texts. Errors name file and line: no YAML, a key that is missing or of another
// kind, a task without a baseline, a label that is there twice. Keys that nobody reads are ignored,
// as in the reference (has_categories).
Result<CoreBundle> parse_core_bundle(std::string_view yaml, std::string_view csv,
                                     const std::filesystem::path& yaml_path,
                                     const std::filesystem::path& csv_path);

// The bundle of a data folder: nanochat's layout (the folder itself or its eval_bundle/ holds
// core.yaml) or that of `npubench data list`. Nothing where there is no core.yaml.
Result<std::optional<CoreBundle>> read_core_bundle(const std::filesystem::path& data_dir);

// bad_input that names the first difference between the bundle and the program's table.
Result<void> check_against_bundle(const CoreTask& task, const CoreBundle& bundle);

}  // namespace nb
