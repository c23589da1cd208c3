#include "results/audit/lm_eval_rows.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <set>

#include "harness/base/ascii.hpp"
#include "results/audit/read_parts.hpp"

namespace nb {
namespace {

constexpr std::size_t kNoColumn = std::string_view::npos;
constexpr std::string_view kUp = "↑", kDown = "↓";

// Groups whose own n-shot the harness prints as 0 whatever their tasks have, also where the table
// shows none of the tasks: lm_eval/tasks @ 4e7e0d47f, files with "group:".
constexpr auto kGroups = std::to_array<std::string_view>(
    {"mmlu", "cmmlu", "ceval-valid", "bbh", "agieval", "mmmu_val", "mmlu_pro", "leaderboard"});

struct Columns {
  std::size_t task, version, filter, shots, metric, value, error;
};

Columns columns_of_table(const std::vector<std::string>& header) {
  Columns columns{kNoColumn, kNoColumn, kNoColumn, kNoColumn, kNoColumn, kNoColumn, kNoColumn};
  for (const std::string_view name : {"tasks", "task", "groups"})
    if (const std::size_t at = column_of(header, name); at == 0) columns.task = at;
  columns.version = column_of(header, "version");
  columns.filter = column_of(header, "filter");
  columns.shots = column_of(header, "n-shot");
  columns.metric = column_of(header, "metric");
  columns.value = column_of(header, "value");
  columns.error = column_of(header, "stderr");
  return columns;
}

std::string cell(const std::vector<std::string>& row, std::size_t column) {
  return column < row.size() ? without_marks(row[column]) : std::string();
}

// Takes the arrow off a cell's beginning or end.
std::optional<Direction> take_arrow(std::string& text) {
  for (const auto& [sign, direction] :
       {std::pair{kUp, Direction::kHigher}, std::pair{kDown, Direction::kLower}}) {
    if (text.starts_with(sign))
      text.erase(0, sign.size());
    else if (text.ends_with(sign))
      text.erase(text.size() - sign.size());
    else
      continue;
    text = std::string(trimmed(text));
    return direction;
  }
  return std::nullopt;
}

// Marks that people and tests put around a value: "✅0.38", "0.23 <-----".
void drop_remarks(std::string& text) {
  for (const std::string_view mark : {"\xE2\x9C\x85", "\xE2\x9D\x8C"})  // ✅ ❌
    if (text.starts_with(mark)) text.erase(0, mark.size());
  if (const std::size_t at = text.find('<');
      at != text.npos && at > 0 && text.find_first_not_of("<-=", at) == text.npos)
    text.erase(at);
  text = std::string(trimmed(text));
}

std::string plain_label(std::string text) {
  text = without_marks(text);
  if (text.starts_with("- ")) text.erase(0, 2);
  return std::string(trimmed(text));
}

// "anatomy" of mmlu is the task mmlu_anatomy, "Art and Design" of mmmu_val is
// mmmu_val_art_and_design: what the harness names them in its files. Names that hold the group's
// are whole already.
std::string whole_name(const std::string& label, const std::string& group) {
  if (group.empty() || label.starts_with(group)) return label;
  std::string name = group + "_" + lowered(label);
  std::ranges::replace(name, ' ', '_');
  return name;
}

bool is_dashed(const std::string& text) { return text.starts_with("- ") || text == "-"; }

// Depth of each row in the tree of groups: 0 for what has no dash; dashed ones by their indent.
std::vector<std::size_t> depths_of(const PrintedTable& table) {
  std::set<std::size_t> indents;
  for (std::size_t i = 1; i < table.rows.size(); ++i)
    if (is_dashed(table.rows[i].front())) indents.insert(table.indents[i]);
  std::vector<std::size_t> depths(table.rows.size(), 0);
  for (std::size_t i = 1; i < table.rows.size(); ++i)
    if (is_dashed(table.rows[i].front()))
      depths[i] = 1 + static_cast<std::size_t>(
                          std::distance(indents.begin(), indents.find(table.indents[i])));
  return depths;
}

// The rows that name a task, with their place in the tree.
struct Task {
  std::string name, part_of;
  bool is_group = false;
};
std::vector<Task> tasks_of(const PrintedTable& table, std::size_t column) {
  const std::vector<std::size_t> depths = depths_of(table);
  const bool all_groups = lowered(without_marks(table.rows.front()[column])) == "groups";
  std::vector<Task> tasks(table.rows.size());
  std::size_t first = 1;
  while (first < table.rows.size() && table.rows[first].front().empty()) ++first;
  // Releases that sorted their rows by name put parts before their group: no tree is to be had.
  const bool has_tree = first >= table.rows.size() || depths[first] == 0;
  std::vector<std::string> above;  // the names that stand above, by their depth
  std::size_t last = 0;            // row that named the task before
  for (std::size_t i = first; i < table.rows.size(); ++i) {
    if (table.rows[i].empty()) continue;
    const std::string label = plain_label(table.rows[i].front());
    if (label.empty()) {
      tasks[i] = tasks[last];
      continue;
    }
    above.resize(has_tree ? std::min(above.size(), depths[i]) : 0);
    Task& task = tasks[i];
    task.name = above.empty() ? label : whole_name(label, above.front());
    task.part_of = above.empty() ? "" : above.back();
    above.push_back(task.name);
    task.is_group = all_groups;
    if (has_tree && last > 0 && depths[i] > depths[last])
      for (std::size_t j = last; j < i; ++j) tasks[j].is_group = true;
    last = i;
  }
  return tasks;
}

// "1.0" and "1" are one version; "N/A" and "Yaml" are none.
std::string version_of(std::string text) {
  if (text.empty() || text.front() < '0' || text.front() > '9') return {};
  if (text.ends_with(".0")) text.erase(text.size() - 2);
  return text;
}

std::string shots_of(const std::string& text, const Task& task) {
  if (task.is_group || text.empty() || text.find_first_not_of("0123456789") != text.npos) return {};
  const bool is_known_group =
      std::ranges::find(kGroups, std::string_view(task.name)) != kGroups.end();
  return is_known_group && text == "0" ? std::string() : text;
}

}  // namespace

bool is_lm_eval_table(const PrintedTable& table) {
  const Columns columns = columns_of_table(table.rows.front());
  const bool has_own =
      columns.error != kNoColumn || columns.shots != kNoColumn || columns.version != kNoColumn;
  return columns.task == 0 && columns.metric != kNoColumn && columns.value != kNoColumn && has_own;
}

Result<std::vector<LmEvalRow>> lm_eval_rows(const PrintedTable& table, const std::string& where) {
  const Columns columns = columns_of_table(table.rows.front());
  const std::vector<Task> tasks = tasks_of(table, columns.task);
  std::vector<LmEvalRow> rows;
  std::string version;  // stands in the task's first row alone
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    const std::vector<std::string>& cells = table.rows[i];
    std::string value = cell(cells, columns.value);
    if (!plain_label(cells.front()).empty()) version = version_of(cell(cells, columns.version));
    LmEvalRow row;
    row.line = table.lines[i];
    row.arrow = take_arrow(value);
    drop_remarks(value);
    if (tasks[i].name.empty() || is_blank_cell(value)) continue;
    const std::string place = fmt::format("{}:{}", where, row.line);
    row.task = tasks[i].name;
    row.metric = cell(cells, columns.metric);
    if (const auto arrow = take_arrow(row.metric)) row.arrow = arrow;
    // The nameless column between the two.
    for (std::size_t j = columns.metric + 1; j < columns.value && j < cells.size(); ++j) {
      std::string sign = cells[j];
      if (const auto arrow = take_arrow(sign); arrow && sign.empty()) row.arrow = arrow;
    }
    // vllm-ascend's reports write "exact_match,strict-match" as the JSON does.
    if (const std::size_t comma = row.metric.rfind(','); comma != row.metric.npos) {
      row.filter = row.metric.substr(comma + 1);
      row.metric.erase(comma);
    }
    if (row.metric.empty()) return bad_input(fmt::format("{}: {} has no metric", place, row.task));
    if (columns.filter != kNoColumn) row.filter = cell(cells, columns.filter);
    if (row.filter == "none") row.filter.clear();
    NB_TRY(row.value, parse_printed(value, place + ": " + row.task));
    row.standard_error = take_error(row.value);
    if (!row.value.unit.empty())
      return bad_input(fmt::format("{}: {}: \"{}\" is not one number", place, row.task, value));
    std::string error = cell(cells, columns.error);
    for (const std::string_view sign : {"±", "+-", "+/-"})
      if (error.starts_with(sign)) error.erase(0, sign.size());
    if (!is_blank_cell(error)) {
      NB_TRY(const Printed printed, parse_printed(error, place + ": stderr"));
      row.standard_error = printed.value;
    }
    row.version = version;
    row.shots = shots_of(cell(cells, columns.shots), tasks[i]);
    row.is_group = tasks[i].is_group;
    row.part_of = tasks[i].part_of;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace nb
