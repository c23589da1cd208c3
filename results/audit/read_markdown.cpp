// Tables of Markdown documents whose rows or columns are tasks; other tables are counted.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "harness/base/table.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/read_table.hpp"

namespace nb {
namespace {

using Row = std::vector<std::string>;
struct PipeTable {
  std::vector<Row> rows;  // the first is the header
  std::vector<std::size_t> lines;
};

Row cells_of(std::string_view line) {
  line = trimmed_text(line);
  if (line.starts_with('|')) line.remove_prefix(1);
  if (line.ends_with('|')) line.remove_suffix(1);
  Row row;
  for (std::size_t bar = line.find('|');; bar = line.find('|')) {
    row.emplace_back(trimmed_text(line.substr(0, bar)));
    if (bar == line.npos) return row;
    line.remove_prefix(bar + 1);
  }
}

bool is_rule(std::string_view line) {
  line = trimmed_text(line);
  return line.find("--") != line.npos && line.find('|') != line.npos &&
         line.find_first_not_of("|-: ") == line.npos;
}

std::vector<PipeTable> pipe_tables(std::string_view text) {
  std::vector<PipeTable> tables;
  const std::vector<Line> lines = lines_of(text);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    if (!is_rule(lines[i].text) || lines[i - 1].text.find('|') == std::string_view::npos) continue;
    PipeTable table;
    table.rows.push_back(cells_of(lines[i - 1].text));
    table.lines.push_back(lines[i - 1].number);
    for (++i; i < lines.size() && lines[i].text.find('|') != std::string_view::npos; ++i) {
      table.rows.push_back(cells_of(lines[i].text));
      table.lines.push_back(lines[i].number);
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

std::string without_marks(std::string text) {
  std::erase_if(text, [](char c) { return c == '*' || c == '`'; });
  return std::string(trimmed_text(text));
}

bool is_task(const std::string& cell) {
  const std::string label = without_marks(cell);
  return known_task_named(label) != nullptr || !composite_named(label).empty();
}

// lm-eval's own table: |Tasks|Version|Filter|n-shot|Metric| |Value| |Stderr|.
struct LmEvalColumns {
  std::size_t metric, value, error;
};
std::optional<LmEvalColumns> lm_eval_columns(const Row& header) {
  const auto at = [&](std::string_view name) {
    return static_cast<std::size_t>(
        std::ranges::find_if(header,
                             [&](const std::string& cell) { return lower_text(cell) == name; }) -
        header.begin());
  };
  const LmEvalColumns columns{at("metric"), at("value"), at("stderr")};
  if (std::max({columns.metric, columns.value, columns.error}) >= header.size())
    return std::nullopt;
  return columns;
}

Result<void> read_lm_eval(const PipeTable& pipe, const LmEvalColumns& columns,
                          ReportedTable& table) {
  std::string task;
  for (std::size_t i = 1; i < pipe.rows.size(); ++i) {
    const Row& row = pipe.rows[i];
    const std::string where = fmt::format("{}:{}", table.name, pipe.lines[i]);
    if (row.size() <= std::max({columns.metric, columns.value, columns.error})) continue;
    if (!row.front().empty()) task = without_marks(row.front());
    if (is_blank_cell(row[columns.value])) continue;
    NB_TRY(Printed number, parse_printed(row[columns.value], where + ": " + task));
    const std::string label = task + "/" + row[columns.metric];
    ReportedCell cell = cell_of(label, std::move(number), pipe.lines[i]);
    cell.task = label;
    cell.scale = row[columns.metric].starts_with("acc") || row[columns.metric] == "exact_match"
                     ? Scale::kAccuracy
                     : Scale::kOther;
    cell.counts_items = false;
    if (!is_blank_cell(row[columns.error])) {
      NB_TRY(const Printed error, parse_printed(row[columns.error], where + ": stderr"));
      cell.standard_error = error.value;
    }
    ReportedStage& stage = stage_of(table, table.name, "");
    if (stage.find(label) == nullptr) stage.cells.push_back(std::move(cell));
  }
  return {};
}

enum class Axis { kNone, kRows, kColumns, kLmEval };
Axis tasks_of(const PipeTable& table) {
  const Row& header = table.rows.front();
  if (lm_eval_columns(header)) return Axis::kLmEval;
  if (std::any_of(header.begin() + 1, header.end(), is_task)) return Axis::kColumns;
  static constexpr auto kWords = std::to_array<std::string_view>({"task", "benchmark"});
  const bool says_so =
      std::ranges::find(kWords, lower_text(without_marks(header.front()))) != kWords.end();
  const bool has_task = std::any_of(table.rows.begin() + 1, table.rows.end(),
                                    [](const Row& row) { return is_task(row.front()); });
  return has_task || says_so ? Axis::kRows : Axis::kNone;
}

Result<void> read_one(const PipeTable& pipe, Axis axis, ReportedTable& table) {
  const Row& header = pipe.rows.front();
  for (std::size_t i = 1; i < pipe.rows.size(); ++i) {
    const Row& row = pipe.rows[i];
    const std::string where = fmt::format("{}:{}", table.name, pipe.lines[i]);
    if (row.size() != header.size())
      return bad_input(
          fmt::format("{}: {} cells, but the header has {}", where, row.size(), header.size()));
    for (std::size_t j = 1; j < row.size(); ++j) {
      const std::string& label = without_marks(axis == Axis::kRows ? row.front() : header[j]);
      const std::string& column = without_marks(axis == Axis::kRows ? header[j] : row.front());
      if (is_blank_cell(without_marks(row[j]))) continue;
      // Beside the scores a table of models has columns in words; a known task has a number.
      auto number = parse_printed(row[j], where + ": " + label);
      const bool is_one_number =  // not "41.2 / 30.1"
          number && (number->unit.empty() || number->unit.starts_with("±"));
      if (!is_one_number) {
        if (!is_task(label)) continue;
        if (!number) return bad_input(number.error().message);
        return bad_input(fmt::format("{}: {}: \"{}\" is not one number", where, label, row[j]));
      }
      if (!is_task(label) && axis == Axis::kColumns) continue;
      const ColumnName name = column_name(column);
      ReportedStage& stage = stage_of(table, name.run.empty() ? table.name : name.run, name.stage);
      ReportedCell cell = cell_of(label, std::move(*number), pipe.lines[i]);
      if (stage.find(cell.task) != nullptr)
        return bad_input(fmt::format("{}: {} stands twice in column \"{}\"", where, label, column));
      stage.cells.push_back(std::move(cell));
    }
  }
  return {};
}

}  // namespace

bool looks_like_markdown_table(std::string_view text) {
  return std::ranges::any_of(pipe_tables(text),
                             [](const PipeTable& table) { return tasks_of(table) != Axis::kNone; });
}

Result<ReportedTable> parse_markdown_tables(std::string_view text, const std::string& where) {
  ReportedTable table;
  table.name = where;
  int others = 0;
  for (const PipeTable& pipe : pipe_tables(text)) {
    const Axis axis = tasks_of(pipe);
    if (axis == Axis::kNone) {
      ++others;
      continue;
    }
    NB_TRY_VOID(axis == Axis::kLmEval
                    ? read_lm_eval(pipe, *lm_eval_columns(pipe.rows.front()), table)
                    : read_one(pipe, axis, table));
  }
  if (others > 0) table.ignored.push_back(count_text(others, "table") + " without tasks");
  NB_TRY_VOID(finish_cells(table));
  NB_TRY_VOID(needs_numbers(table));
  return table;
}

}  // namespace nb
