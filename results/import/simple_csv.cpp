// CSV files that anyone can write: item,outcome and task,accuracy,n.
#include <fmt/format.h>

#include <algorithm>

#include "harness/base/byte_order_mark.hpp"
#include "harness/base/csv.hpp"
#include "results/audit/table.hpp"
#include "results/foreign/lines.hpp"
#include "results/import/readers.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

// Lower-case cells of the first line.
std::vector<std::string> header_of(std::string_view head) {
  head = without_byte_order_mark(head);
  std::string_view line = head.substr(0, head.find('\n'));
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::vector<std::string> cells(1);
  for (const char c : line) {
    if (c == ',')
      cells.emplace_back();
    else if (c != ' ' && c != '"')
      cells.back() += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  }
  return cells;
}

bool has(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool holds_nul(std::string_view bytes) { return bytes.find('\0') != std::string_view::npos; }

// 0.4321, 43.21 %, 1,234: what people write. nothing: not a number, or one with a decimal comma.
std::optional<double> number_in(const std::string& text) {
  const auto printed = parse_printed(text, "");
  if (!printed || !printed->unit.empty() || printed->is_rough) return std::nullopt;
  return printed->value;
}

// 1, 0, true, false, correct, wrong, … as a value; fractions as they are.
std::optional<double> outcome_in(std::string text) {
  std::erase(text, ' ');
  for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  for (const char* yes : {"true", "correct", "right", "pass", "passed", "yes", "c"})
    if (text == yes) return 1;
  for (const char* no : {"false", "incorrect", "wrong", "fail", "failed", "no", "i"})
    if (text == no) return 0;
  return number_in(text);
}

struct Columns {
  const CsvTable& table;
  std::vector<std::string> names;

  explicit Columns(const CsvTable& csv) : table(csv) {
    for (std::string name : csv.header) {
      std::erase(name, ' ');
      for (char& c : name) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
      names.push_back(std::move(name));
    }
  }
  std::string cell(std::size_t row, std::string_view name) const {
    const auto at = std::find(names.begin(), names.end(), name);
    return at == names.end() ? "" : table.rows[row][static_cast<std::size_t>(at - names.begin())];
  }
  std::string where(std::size_t row) const {
    return fmt::format("{}:{}", table.where, table.lines[row]);
  }
  Result<void> only(std::initializer_list<std::string_view> known) const {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (std::find(known.begin(), known.end(), names[i]) == known.end())
        return bad_input(fmt::format("{}:1: unknown column \"{}\"; known are {}", table.where,
                                     table.header[i], fmt::join(known, ", ")));
    return {};
  }
};

bool is_count(double number) {
  return count_of(number) > 0 && static_cast<double>(count_of(number)) == number;
}

}  // namespace

bool is_items_csv(const FileHead& head) {
  if (holds_nul(head.bytes)) return false;
  const auto names = header_of(head.bytes);
  return has(names, "item") && has(names, "outcome");
}

Result<void> read_items_csv(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const CsvTable table, read_csv(path, CsvFormulas::kUnquoted));
  const Columns columns(table);
  NB_TRY_VOID(columns.only({"task", "item", "outcome", "prediction", "gold", "question", "epoch"}));
  ForeignRun& run = builder.file_run("CSV", "", "", path, path.stem().string());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string where = columns.where(row);
    const auto outcome = outcome_in(columns.cell(row, "outcome"));
    if (!outcome)
      return bad_input(
          fmt::format("{}: outcome \"{}\" is no number and none of correct, wrong, "
                      "true, false, pass, fail",
                      where, columns.cell(row, "outcome")));
    ForeignItem item;
    item.source_id = columns.cell(row, "item");
    if (item.source_id.empty()) return bad_input(where + ": the item has no name");
    if (const std::string epoch = columns.cell(row, "epoch"); !epoch.empty()) {
      const auto number = number_in(epoch);
      if (!number || (*number != 0 && !is_count(*number)))
        return bad_input(fmt::format("{}: epoch \"{}\" is not a whole number", where, epoch));
      item.epoch = count_of(*number);
    }
    item.content = item.question = columns.cell(row, "question");
    item.gold = columns.cell(row, "gold");
    item.prediction = columns.cell(row, "prediction");
    const std::string task = columns.cell(row, "task");
    const SeriesValue value{{task.empty() ? "items" : task, "", "accuracy"}, *outcome};
    NB_TRY_VOID(builder.add_item(run, {&value, 1}, item, where));
  }
  return {};
}

bool is_totals_csv(const FileHead& head) {
  if (holds_nul(head.bytes)) return false;
  const auto names = header_of(head.bytes);
  return has(names, "task") && has(names, "accuracy") && !has(names, "centered");
}

Result<void> read_totals_csv(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const CsvTable table, read_csv(path, CsvFormulas::kUnquoted));
  const Columns columns(table);
  NB_TRY_VOID(columns.only({"task", "accuracy", "n", "stderr"}));
  ForeignRun& run = builder.file_run("CSV", "", "", path, path.stem().string());
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    const std::string where = columns.where(row), task = columns.cell(row, "task");
    const auto accuracy = number_in(columns.cell(row, "accuracy"));
    if (task.empty()) return bad_input(where + ": the task has no name");
    if (!accuracy)
      return bad_input(fmt::format("{}: accuracy \"{}\" is not a number; write 0.311 or 31.1 %",
                                   where, columns.cell(row, "accuracy")));
    if (*accuracy < 0 || *accuracy > 1)
      return bad_input(
          fmt::format("{}: accuracy \"{}\" is not between 0 and 1; a percentage has its "
                      "sign: 31.1 %",
                      where, columns.cell(row, "accuracy")));
    ForeignSeries& series = builder.series(run, {task, "", "accuracy"});
    if (series.reported) return bad_input(fmt::format("{}: task {} occurs twice", where, task));
    series.reported = *accuracy;
    if (const std::string error = columns.cell(row, "stderr"); !error.empty()) {
      series.reported_stderr = number_in(error);
      if (!series.reported_stderr || *series.reported_stderr < 0)
        return bad_input(fmt::format("{}: stderr \"{}\" is no standard error", where, error));
    }
    if (const std::string n = columns.cell(row, "n"); !n.empty()) {
      const auto count = number_in(n);
      if (!count || !is_count(*count))
        return bad_input(fmt::format("{}: n \"{}\" is not a count of items", where, n));
      series.reported_n = count_of(*count);
    }
  }
  return {};
}

}  // namespace nb
