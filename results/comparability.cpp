// Which records and tasks may be compared at all: equality of hashes, first differing field named.
#include <fmt/core.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "results/captured.hpp"
#include "results/compare.hpp"

namespace nb {
namespace {

std::set<std::string> tasks_of(const Record& a, const Record& b) {
  std::set<std::string> tasks;
  for (const Record* record : {&a, &b}) {
    if (record->kind != "eval") continue;
    for (const auto& [task, file] : record->items) tasks.insert(task);
    for (const Metric& metric : record->metrics) tasks.insert(task_of_metric(metric.name));
  }
  tasks.erase("");
  return tasks;
}

// The longest known task that the key is a field of; empty: a field of the record.
std::string owner_of(const std::string& key, const std::set<std::string>& tasks) {
  std::string owner;
  for (const std::string& task : tasks)
    if (key.starts_with(task + "/") && task.size() > owner.size()) owner = task;
  return owner;
}

// "mmlu/anatomy" is a part of "mmlu": what holds of the task holds of its parts.
bool concerns(const std::string& key, const std::string& task, const std::set<std::string>& tasks) {
  const std::string owner = owner_of(key, tasks);
  return owner.empty() || owner == task || task.starts_with(owner + "/");
}

}  // namespace

Json comparability_of(const Record& record, const std::string& task) {
  const std::set<std::string> tasks = tasks_of(record, record);
  Json entries = Json::object();
  for (const auto& [key, value] : record.comparability)
    if (concerns(key, task, tasks)) entries[key] = value;
  return entries;
}

std::string task_of_metric(const std::string& metric) {
  const std::size_t slash = metric.rfind('/');
  return slash == std::string::npos ? metric : metric.substr(0, slash);
}

std::string incomparable_because(const Record& a, const Record& b, const std::string& task) {
  std::set<std::string> keys;
  for (const auto& [key, value] : a.comparability) keys.insert(key);
  for (const auto& [key, value] : b.comparability) keys.insert(key);
  const std::set<std::string> tasks = tasks_of(a, b);
  // A captured training does not say what it was validated on in a suite's terms.
  const bool captured = a.kind == "train" && is_captured(a) != is_captured(b);
  const bool imported = is_imported(a) || is_imported(b) || captured;
  const auto text = [](const std::map<std::string, std::string>& map, const std::string& key) {
    const auto at = map.find(key);
    return at == map.end() ? std::string("absent") : at->second.substr(0, 24);
  };
  for (const std::string& key : keys) {
    if (!concerns(key, task, tasks)) continue;
    const auto left = a.comparability.find(key);
    const auto right = b.comparability.find(key);
    const bool both = left != a.comparability.end() && right != b.comparability.end();
    if (both && left->second == right->second) continue;
    if (!both && imported) continue;  // not said is not different: unknown_of names it
    return fmt::format("{} differs: {} and {}", key, text(a.comparability, key),
                       text(b.comparability, key));
  }
  return {};
}

}  // namespace nb
