// Which records and tasks may be compared at all: equality of hashes, first differing field named.
#include "results/store/comparability.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "results/messages/sentences.hpp"
#include "results/store/captured.hpp"
#include "results/store/store.hpp"

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

// Calls each("mmlu/anatomy"), each("mmlu"): the text before each of its slashes, the longest first.
template <class Each>
void for_each_beginning(const std::string& text, Each each) {
  for (std::size_t end = text.rfind('/'); end != text.npos && end > 0;
       end = text.rfind('/', end - 1))
    if (!each(text.substr(0, end))) return;
}

// The longest known task that the key is a field of; empty: a field of the record.
std::string owner_of(const std::string& key, const std::set<std::string>& tasks) {
  std::string owner;
  for_each_beginning(key, [&](std::string beginning) {
    if (!tasks.contains(beginning)) return true;
    owner = std::move(beginning);
    return false;
  });
  return owner;
}

// "mmlu/anatomy" is a part of "mmlu": what holds of the task holds of its parts.
bool concerns(const std::string& key, const std::string& task, const std::set<std::string>& tasks) {
  const std::string owner = owner_of(key, tasks);
  return owner.empty() || owner == task || task.starts_with(owner + "/");
}

// A model that is asked here says of no task how it is scored: by the log-probabilities of the
// prompt's tokens, or by generating.
bool is_usual_method(const std::pair<const std::string, std::string>& entry) {
  return entry.first.ends_with("/method") &&
         (entry.second == "prompt_logprobs" || entry.second == "generation");
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

ComparableTasks::ComparableTasks(const Record& a, const Record& b) {
  std::set<std::string> keys;
  for (const auto& [key, value] : a.comparability) keys.insert(key);
  for (const auto& [key, value] : b.comparability) keys.insert(key);
  const std::set<std::string> tasks = tasks_of(a, b);
  // A captured training does not say what it was validated on in a suite's terms.
  const bool captured = a.kind == "train" && is_captured(a) != is_captured(b);
  const bool imported = is_imported(a) || is_imported(b) || captured;
  const auto said = [](const std::map<std::string, std::string>& map, const std::string& key) {
    const auto at = map.find(key);
    return at == map.end() ? message("incomparable.absent") : verbatim(at->second.substr(0, 24));
  };
  for (const std::string& key : keys) {
    const auto left = a.comparability.find(key);
    const auto right = b.comparability.find(key);
    const bool both = left != a.comparability.end() && right != b.comparability.end();
    if (both && left->second == right->second) continue;
    if (!both && is_usual_method(left != a.comparability.end() ? *left : *right)) continue;
    if (!both && imported) continue;  // not said is not different: unknown_of names it
    first_.try_emplace(owner_of(key, tasks), Difference{key, message("incomparable.field", key,
                                                                     said(a.comparability, key),
                                                                     said(b.comparability, key))});
  }
}

Sentence ComparableTasks::why_not(const std::string& task) const {
  const Difference* first = nullptr;
  const auto look = [&](const std::string& owner) {
    const auto at = first_.find(owner);
    if (at != first_.end() && (first == nullptr || at->second.key < first->key))
      first = &at->second;
    return true;
  };
  look("");
  look(task);
  for_each_beginning(task, look);
  return first == nullptr ? Sentence() : first->sentence;
}

Sentence incomparable_because(const Record& a, const Record& b, const std::string& task) {
  return ComparableTasks(a, b).why_not(task);
}

}  // namespace nb
