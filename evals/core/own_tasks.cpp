#include "evals/core/own_tasks.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "evals/base/task.hpp"
#include "evals/core/core_yaml.hpp"
#include "evals/core/items.hpp"
#include "harness/base/fs.hpp"
#include "harness/base/hash.hpp"
#include "model/data/tasks/rows.hpp"

namespace nb {
namespace {

constexpr std::size_t kLongestLabel = 60;  // it is part of names of files
constexpr const char* kBundleRows = "eval_data";

bool can_name_files(std::string_view label) {
  return !label.empty() && label.size() <= kLongestLabel && std::ranges::all_of(label, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

CoreTaskType type_named(std::string_view wanted) {
  for (const auto type : {CoreTaskType::kMultipleChoice, CoreTaskType::kSchema})
    if (name(type) == wanted) return type;
  return CoreTaskType::kLanguageModelling;
}

Result<fs::path> rows_of(const YamlTask& task, const fs::path& yaml) {
  const fs::path beside = yaml.parent_path() / task.dataset_uri;
  for (const fs::path& path : {beside, yaml.parent_path() / kBundleRows / task.dataset_uri}) {
    std::error_code error;
    if (!task.dataset_uri.empty() && fs::is_regular_file(path, error)) return path;
  }
  return bad_input(
      fmt::format("{}:{}: dataset_uri \"{}\": there is no such file; it is looked for as {}",
                  yaml.string(), task.dataset_uri_line, task.dataset_uri, beside.string()));
}

Result<CoreTask> own_task(YamlTask entry, const fs::path& yaml) {
  if (!can_name_files(entry.label))
    return bad_input(fmt::format("{}:{}: label \"{}\": use 1 to {} letters, digits, _ and -",
                                 yaml.string(), entry.line, entry.label, kLongestLabel));
  NB_TRY(const fs::path rows, rows_of(entry, yaml));
  CoreTask task;
  task.id = std::string(kOwnPrefix) + entry.label;
  task.type = type_named(entry.type);
  task.dataset = rows.string();
  task.shots = entry.shots;
  task.delimiter = std::move(entry.delimiter);
  return task;
}

std::string digest_of(const CoreTask& task, std::string_view rows) {
  return sha256_hex(netstrings({task.id, std::string(name(task.type)), std::to_string(task.shots),
                                task.delimiter, sha256_hex(rows)}));
}

}  // namespace

bool is_own(const CoreTask& task) { return task.id.starts_with(kOwnPrefix); }

Result<std::vector<CoreTask>> read_own_tasks(std::span<const std::string> yaml_files) {
  std::vector<CoreTask> tasks;
  for (const std::string& file : yaml_files) {
    NB_TRY(const std::string text, read_file(file));
    NB_TRY(std::vector<YamlTask> entries, parse_core_yaml(text, file, UnknownKeys::kRefused));
    if (entries.empty())
      return bad_input(file + ": \"icl_tasks\" is empty; list at least one task");
    for (YamlTask& entry : entries) {
      const int line = entry.line;
      NB_TRY(CoreTask task, own_task(std::move(entry), file));
      if (std::ranges::find(tasks, task.id, &CoreTask::id) != tasks.end())
        return bad_input(fmt::format("{}:{}: another task file has a task {} too; rename one", file,
                                     line, task.id.substr(kOwnPrefix.size())));
      tasks.push_back(std::move(task));
    }
  }
  return tasks;
}

Result<std::string> own_digest(const CoreTask& task) {
  NB_TRY(const std::string rows, read_file(task.dataset), task.id);
  return digest_of(task, rows);
}

Result<OwnRows> read_own_rows(const CoreTask& task) {
  NB_TRY(const std::string rows, read_file(task.dataset), task.id);
  OwnRows own;
  own.digest = digest_of(task, rows);
  NB_TRY(own.items, parse_core_items(rows, task.type, task.dataset), task.id);
  return own;
}

}  // namespace nb
