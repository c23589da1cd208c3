#include "results/store/item_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "harness/base/fields.hpp"

namespace nb {
namespace {

constexpr std::size_t kLeastDigits = 4;  // of an item's or a node's hash
constexpr std::size_t kListed = 8;

bool is_node(const StoredRecord& stored, const std::string& node) {
  return stored.folder.filename() == node ||
         (node.size() >= kLeastDigits && stored.record.node_key.starts_with(node)) ||
         describe(stored.record).find(node) != std::string::npos;
}

// The first of them, and how many more there are.
std::string list_of(const std::vector<std::string>& names) {
  const auto shown = std::min(names.size(), kListed);
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

template <class NameOf>
std::vector<std::string> distinct(const std::vector<ItemTask>& tasks, NameOf name_of) {
  std::vector<std::string> names;
  for (const ItemTask& one : tasks)
    if (const std::string name = name_of(one);
        std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  return names;
}

std::string task_name(const ItemTask& one) { return one.task; }
std::string node_name(const ItemTask& one) { return describe(one.stored->record); }

bool is_headline(const ItemTask& one) {
  const Json& settings = *one.stored->record.settings;
  const Json::json_pointer at("/imported/primary");
  if (!settings.contains(at) || !settings.at(at).is_array()) return true;
  const Json& primary = settings.at(at);
  return std::find(primary.begin(), primary.end(), Json(one.task)) != primary.end();
}

template <class IsMeant>
std::vector<ItemTask> those(const std::vector<ItemTask>& tasks, IsMeant is_meant) {
  std::vector<ItemTask> found;
  std::copy_if(tasks.begin(), tasks.end(), std::back_inserter(found), is_meant);
  return found;
}

}  // namespace

Result<std::vector<ItemTask>> item_tasks(const RunRecords& run, const std::string& node) {
  std::vector<ItemTask> all;
  for (const StoredRecord& stored : run.records)
    for (const auto& [task, file] : stored.record.items) all.push_back({&stored, task});
  if (all.empty())
    return nothing_found(
        run, run.path.string() +
                 ": has no items to show: nothing in it was evaluated, or its source states totals "
                 "alone");
  if (node.empty()) return all;
  auto found = those(all, [&](const ItemTask& one) { return node_name(one) == node; });
  if (found.empty())
    found = those(all, [&](const ItemTask& one) { return is_node(*one.stored, node); });
  if (found.empty())
    return bad_input(fmt::format("--node {}: nothing with items is called so; there are {}", node,
                                 list_of(distinct(all, node_name))));
  return found;
}

Result<std::vector<ItemTask>> tasks_named(const std::vector<ItemTask>& tasks,
                                          const std::string& task) {
  auto found = those(tasks, [&](const ItemTask& one) { return one.task == task; });
  if (!found.empty()) return found;
  for (const char* end : {"/", ":"}) {
    found = those(tasks, [&](const ItemTask& one) {
      return is_imported(one.stored->record) && one.task.starts_with(task + end);
    });
    if (auto headline = those(found, is_headline); !headline.empty()) return headline;
    if (!found.empty()) return found;
  }
  const auto names = distinct(tasks, task_name);
  return bad_input(fmt::format("--task {}: no items of such a task{}; there {} {}", task,
                               did_you_mean(task, names), names.size() == 1 ? "is" : "are",
                               list_of(names)));
}

Result<ItemTask> the_task_named(const std::vector<ItemTask>& tasks, const std::string& task) {
  NB_TRY(const auto found, tasks_named(tasks, task));
  if (found.size() == 1) return found.front();
  if (const auto names = distinct(found, task_name); names.size() > 1)
    return bad_input(
        fmt::format("--task {}: is one of {}; give the one you mean", task, list_of(names)));
  return bad_input(fmt::format(
      "--task {}: was evaluated {} times; say which with --node and a part of its name: {}",
      found.front().task, found.size(), list_of(distinct(found, node_name))));
}

Result<std::size_t> find_item(const PackedItems& items, const std::string& name) {
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items.source_id(i) == name) return i;
  std::vector<std::size_t> begun;  // ids that begin so
  ItemRecord item;
  for (std::size_t i = 0; i < items.size(); ++i) {
    items.read(i, item);
    if (item.id == name) return i;
    if (item.id.starts_with(name)) begun.push_back(i);
  }
  std::size_t row = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), row);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  if (is_number && row >= 1 && row <= items.size()) return row - 1;
  if (name.size() < kLeastDigits) begun.clear();
  if (begun.size() == 1) return begun.front();
  if (begun.size() > 1)
    return bad_input(fmt::format("--item {}: the ids of {} items begin so; give more of it", name,
                                 begun.size()));
  return bad_input(fmt::format("--item {}: {}; rows are 1 to {}, and leaving --item out lists them",
                               name, is_number ? "there is no such row" : "no item is called so",
                               items.size()));
}

}  // namespace nb
