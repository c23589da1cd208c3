// Tables of Markdown documents whose rows or columns are tasks; other tables are counted.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

#include "harness/base/ascii.hpp"
#include "harness/base/table.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/lm_eval_rows.hpp"
#include "results/audit/printed_tables.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/read_table.hpp"
#include "results/audit/table_filler.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

using Row = std::vector<std::string>;

bool is_task(const std::string& cell) {
  const std::string label = head_of(cell).label;
  return known_task_named(label) != nullptr || !composite_named(label).empty();
}

Result<void> read_lm_eval(const PrintedTable& printed, ReportedTable& table, TableFiller& filler) {
  NB_TRY(const std::vector<LmEvalRow> rows, lm_eval_rows(printed, table.name));
  if (rows.empty()) return {};
  const TableFiller::Place stage = filler.place(table.name, "");
  for (const LmEvalRow& row : rows) {
    const std::string task = row.filter.empty() ? row.task : row.task + ":" + row.filter;
    const std::string label = task + "/" + row.metric;
    ReportedCell cell = cell_of(label, row.value, row.line);
    cell.task = label;
    set_metric(cell, row.metric);
    cell.direction = row.arrow;
    cell.filter = row.filter;
    cell.shots = row.shots;
    cell.version = row.version;
    cell.counts_items = false;
    cell.standard_error = row.standard_error;
    const ReportedCell* before = filler.find(stage, label);
    if (before != nullptr && before->score.value == cell.score.value) continue;  // of "Groups"
    if (before != nullptr)
      table.ignored.push_back(
          message("table.twice_is", row.line, label, before->score.text, cell.score.text));
    else
      filler.add(stage, std::move(cell));
  }
  return {};
}

enum class Axis { kNone, kRows, kColumns, kLmEval };
Axis tasks_of(const PrintedTable& table) {
  const Row& header = table.rows.front();
  if (is_lm_eval_table(table)) return Axis::kLmEval;
  if (std::any_of(header.begin() + 1, header.end(), is_task)) return Axis::kColumns;
  static constexpr auto kWords =
      std::to_array<std::string_view>({"task", "tasks", "benchmark", "benchmarks", "dataset"});
  const bool says_so =
      std::ranges::find(kWords, lowered(without_marks(header.front()))) != kWords.end();
  const bool has_task = std::any_of(table.rows.begin() + 1, table.rows.end(),
                                    [](const Row& row) { return is_task(row.front()); });
  return has_task || says_so ? Axis::kRows : Axis::kNone;
}

// Columns of a table of tasks that are no runs.
enum class Column { kRun, kMetric, kShots, kVersion, kItems, kError, kChange };
struct ColumnWord {
  std::string_view word;
  Column column;
};
constexpr auto kColumnWords = std::to_array<ColumnWord>({
    {"metric", Column::kMetric},  {"metrics", Column::kMetric},    {"n-shot", Column::kShots},
    {"shots", Column::kShots},    {"shot", Column::kShots},        {"few-shot", Column::kShots},
    {"#shots", Column::kShots},   {"version", Column::kVersion},   {"n", Column::kItems},
    {"num", Column::kItems},      {"items", Column::kItems},       {"samples", Column::kItems},
    {"#samples", Column::kItems}, {"stderr", Column::kError},      {"std err", Column::kError},
    {"diff", Column::kChange},    {"difference", Column::kChange}, {"delta", Column::kChange},
    {"δ", Column::kChange},       {"Δ", Column::kChange},          {"change", Column::kChange},
    {"gap", Column::kChange},     {"差异", Column::kChange},       {"差值", Column::kChange},
});
Column column_named(std::string_view header) {
  const std::string word = lowered(header);
  for (const ColumnWord& known : kColumnWords)
    if (known.word == word) return known.column;
  return Column::kRun;
}

// What the columns of a row say of all of its numbers.
struct RowFacts {
  std::optional<Head> metric;  // the last column's, with what the others add
  std::string shots, version;
  std::optional<std::int64_t> n;
  std::optional<double> standard_error;
};

void add_metric(const Head& head, std::optional<Head>& all) {
  if (!all) all.emplace();
  all->label = head.label;
  all->metric = head.metric;
  if (!head.shots.empty()) all->shots = head.shots;
  if (head.direction) all->direction = head.direction;
  if (head.is_percent) all->is_percent = head.is_percent;
}

Result<RowFacts> facts_of(const Row& header, const Row& row, const std::string& where) {
  RowFacts facts;
  for (std::size_t j = 1; j < row.size(); ++j) {
    const std::string text = without_marks(row[j]);
    if (is_blank_cell(text)) continue;
    switch (column_named(without_marks(header[j]))) {
      case Column::kMetric:
        add_metric(head_of(text), facts.metric);
        break;
      case Column::kShots:
        facts.shots = text;
        break;
      case Column::kVersion:
        facts.version = text;
        break;
      case Column::kItems: {
        const auto items = parse_printed(text, where);
        if (items && items->unit.empty() && items->decimals == 0 && items->value >= 1 &&
            items->value < 1e12)
          facts.n = static_cast<std::int64_t>(items->value);
        break;
      }
      case Column::kError: {
        NB_TRY(const Printed error, parse_printed(text, where + ": stderr"));
        facts.standard_error = error.value;
        break;
      }
      case Column::kRun:
      case Column::kChange:
        break;
    }
  }
  return facts;
}

void say_facts(const RowFacts& facts, ReportedCell& cell) {
  if (facts.metric) {
    set_metric(cell, facts.metric->label);
    say_head(*facts.metric, cell);
  }
  if (!facts.shots.empty()) cell.shots = facts.shots;
  if (!facts.version.empty()) cell.version = facts.version;
  if (facts.n) cell.n = facts.n;
  if (facts.standard_error) cell.standard_error = facts.standard_error;
}

Result<void> read_one(const PrintedTable& printed, Axis axis, ReportedTable& table,
                      TableFiller& filler) {
  const Row& header = printed.rows.front();
  std::set<std::string> changes;
  std::string above;  // the task of the rows that have an empty first cell
  for (std::size_t i = 1; i < printed.rows.size(); ++i) {
    const Row& row = printed.rows[i];
    const std::string where = fmt::format("{}:{}", table.name, printed.lines[i]);
    if (row.size() != header.size())
      return bad_input(
          fmt::format("{}: {} cells, but the header has {}", where, row.size(), header.size()));
    if (!row.front().empty()) above = row.front();
    std::optional<RowFacts> said;
    for (std::size_t j = 1; j < row.size(); ++j) {
      const Head task = head_of(axis == Axis::kRows ? above : header[j]);
      const Head side = head_of(axis == Axis::kRows ? header[j] : row.front());
      const std::string& label = task.label;
      if (is_blank_cell(without_marks(row[j]))) continue;
      if (axis == Axis::kRows && column_named(side.label) != Column::kRun) {
        if (column_named(side.label) == Column::kChange) changes.insert(side.label);
        continue;
      }
      // Beside the scores a table of models has columns in words; a known task has a number.
      auto number = parse_printed(without_arrow(row[j]), where + ": " + label);
      const auto error = number ? take_error(*number) : std::nullopt;
      const bool is_one_number = number && number->unit.empty();  // not "41.2 / 30.1"
      if (!is_one_number) {
        if (!is_task(label)) continue;
        if (!number) return bad_input(number.error().message);
        return bad_input(fmt::format("{}: {}: \"{}\" is not one number", where, label, row[j]));
      }
      if (!is_task(label) && axis == Axis::kColumns) continue;
      const ColumnName name = column_name(side.label);
      const auto stage = filler.place(name.run.empty() ? table.name : name.run, name.stage);
      ReportedCell cell = cell_of(label, std::move(*number), printed.lines[i]);
      cell.standard_error = error;
      say_head(side, cell);
      say_head(task, cell);
      if (axis == Axis::kRows) {
        if (!said) {
          NB_TRY(said, facts_of(header, row, where));
        }
        say_facts(*said, cell);
      }
      set_aside_if_no_share(cell);
      if (filler.find(stage, cell.task) != nullptr && !cell.metric.empty())
        cell.task += "/" + cell.metric;
      if (filler.find(stage, cell.task) != nullptr)
        return bad_input(fmt::format("{}: {} stands twice in column \"{}\"", where, label,
                                     without_marks(axis == Axis::kRows ? header[j] : row.front())));
      filler.add(stage, std::move(cell));
    }
  }
  for (const std::string& column : changes)
    table.ignored.push_back(message("table.column_follows", column));
  return {};
}

}  // namespace

bool looks_like_markdown_table(std::string_view text) {
  return std::ranges::any_of(printed_tables(text), [](const PrintedTable& table) {
    return tasks_of(table) != Axis::kNone;
  });
}

Result<ReportedTable> parse_markdown_tables(std::string_view text, const std::string& where) {
  ReportedTable table;
  table.name = where;
  TableFiller filler(table);
  int others = 0;
  for (const PrintedTable& printed : printed_tables(text)) {
    const Axis axis = tasks_of(printed);
    if (axis == Axis::kNone) {
      ++others;
      continue;
    }
    NB_TRY_VOID(axis == Axis::kLmEval ? read_lm_eval(printed, table, filler)
                                      : read_one(printed, axis, table, filler));
  }
  if (others > 0) table.ignored.push_back(message("table.without_tasks", with_commas(others)));
  NB_TRY_VOID(finish_cells(table));
  NB_TRY_VOID(needs_numbers(table));
  return table;
}

}  // namespace nb
