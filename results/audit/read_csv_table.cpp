#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "harness/base/ascii.hpp"
#include "harness/base/csv.hpp"
#include "harness/base/fields.hpp"
#include "results/audit/fact_names.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/read_parts.hpp"
#include "results/audit/read_table.hpp"
#include "results/audit/table_filler.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

enum class CsvColumn {
  kTask,
  kMetric,  // beside a task's column
  kAccuracy,
  kCentred,
  kValue,
  kItems,
  kError,
  kLow,
  kHigh,
  kRun,
  kStage,
  kDevice,
  kIgnored
};
struct Name {
  std::string_view text;
  CsvColumn column;
};
constexpr auto kColumnNames = std::to_array<Name>({
    {"task", CsvColumn::kTask},        {"metric", CsvColumn::kTask},
    {"benchmark", CsvColumn::kTask},   {"accuracy", CsvColumn::kAccuracy},
    {"acc", CsvColumn::kAccuracy},     {"score", CsvColumn::kAccuracy},
    {"centered", CsvColumn::kCentred}, {"centred", CsvColumn::kCentred},
    {"value", CsvColumn::kValue},      {"n", CsvColumn::kItems},
    {"n_items", CsvColumn::kItems},    {"items", CsvColumn::kItems},
    {"stderr", CsvColumn::kError},     {"standard_error", CsvColumn::kError},
    {"low", CsvColumn::kLow},          {"high", CsvColumn::kHigh},
    {"run", CsvColumn::kRun},          {"model", CsvColumn::kIgnored},
    {"stage", CsvColumn::kStage},      {"device", CsvColumn::kDevice},
    {"source", CsvColumn::kIgnored},   {"n_devices", CsvColumn::kIgnored},
    {"depth", CsvColumn::kIgnored},    {"unit", CsvColumn::kIgnored},
    {"note", CsvColumn::kIgnored},
});

const Name* named(std::string_view header) {
  const std::string lower = lowered(trimmed(header));
  const auto found =
      std::ranges::find_if(kColumnNames, [&](const Name& n) { return n.text == lower; });
  return found == kColumnNames.end() ? nullptr : &*found;
}

class RowReader {
 public:
  RowReader(const CsvTable& csv, std::vector<CsvColumn> columns, ReportedTable& table)
      : csv_(csv), columns_(std::move(columns)), table_(table), filler_(table) {
    calls_accuracy_ = std::ranges::any_of(csv.header, [](const std::string& header) {
      const std::string lower = lowered(trimmed(header));
      return lower == "accuracy" || lower == "acc";  // "score" may be anything
    });
  }

  Result<void> read(std::size_t row) {
    row_ = row;
    const std::string label(text(CsvColumn::kTask));
    if (label.empty()) return bad_input(where() + ": a row without a task");
    std::string run(text(CsvColumn::kRun));
    if (run.empty()) run = table_.name;
    const TableFiller::Place stage = filler_.place(run, std::string(text(CsvColumn::kStage)));
    if (const std::string_view device = text(CsvColumn::kDevice); !device.empty())
      filler_.run(stage).device = std::string(device);
    if (!text(CsvColumn::kValue).empty()) return read_value(label, stage);
    // nanochat's CORE line has a centred value alone.
    const bool is_centred = is_blank_cell(text(CsvColumn::kAccuracy));
    const std::string metric(text(CsvColumn::kMetric));
    const std::string_view score = text(is_centred ? CsvColumn::kCentred : CsvColumn::kAccuracy);
    if (is_blank_cell(score)) return {};
    NB_TRY(Printed number, parse_printed(score, where() + ": " + label));
    ReportedCell cell = cell_of(label, std::move(number), csv_.lines[row]);
    cell.is_called_accuracy = !is_centred && calls_accuracy_;
    if (is_centred && cell.scale == Scale::kAccuracy) cell.scale = Scale::kCentred;
    if (!is_centred && !is_blank_cell(text(CsvColumn::kCentred)) &&
        cell.scale == Scale::kAccuracy) {
      NB_TRY_VOID(check_centred(cell));
    }
    if (!metric.empty()) name_metric(metric, cell, stage);
    return add(std::move(cell), stage);
  }

 private:
  // The second metric of a task has it in its name.
  void name_metric(const std::string& metric, ReportedCell& cell, TableFiller::Place stage) const {
    const Head head = head_of(metric);
    set_metric(cell, head.label);
    say_head(head, cell);
    if (filler_.find(stage, cell.task) != nullptr) cell.task += "/" + cell.metric;
  }

  std::string where() const { return fmt::format("{}:{}", csv_.where, csv_.lines[row_]); }
  std::string_view text(CsvColumn column) const {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      if (columns_[i] == column) return trimmed(csv_.rows[row_][i]);
    return {};
  }

  // One row of run,stage,metric,value: a score, or a number that is shown under its own name.
  Result<void> read_value(const std::string& label, TableFiller::Place stage) {
    std::string name = label;
    Scale scale = Scale::kAccuracy;
    bool is_task = known_task_named(name) != nullptr;
    if (name.starts_with("centred:")) {
      name.erase(0, 8);
      scale = Scale::kCentred;
      is_task = true;
    } else if (name.starts_with("accuracy:")) {
      name.erase(0, 9);
      is_task = true;
    }
    const std::string value(text(CsvColumn::kValue));
    auto number = parse_printed(value, where() + ": " + label);
    if (!number) {
      if (is_task || !composite_named(name).empty() || metric_kind(name) != nullptr)
        return tl::unexpected(number.error());
      table_.ignored.push_back(message("table.cell", csv_.lines[row_], name, value));
      return {};
    }
    ReportedCell cell = cell_of(name, std::move(*number), csv_.lines[row_]);
    if (const std::string metric(text(CsvColumn::kMetric)); !metric.empty()) {
      name_metric(metric, cell, stage);
      return add(std::move(cell), stage);
    }
    if (is_task && cell.scale == Scale::kAccuracy) cell.scale = scale;
    if (!is_task && cell.scale == Scale::kAccuracy && cell.metric.empty()) set_metric(cell, name);
    // A task under both scales: the accuracy, which says more digits of k/n, stays.
    if (const ReportedCell* before = filler_.find(stage, cell.task)) {
      if (before->scale == cell.scale && before->score.value != cell.score.value)
        table_.ignored.push_back(
            message("table.twice", csv_.lines[row_], name, before->score.text, cell.score.text));
      return {};
    }
    return add(std::move(cell), stage);
  }

  Result<void> check_centred(const ReportedCell& cell) {
    NB_TRY(const Printed centred,
           parse_printed(text(CsvColumn::kCentred), where() + ": " + cell.label));
    const KnownTask* task = find_known_task(cell.task);
    if (task == nullptr) return {};
    const auto fits = [&](double guessing) {
      const double expected = (cell.score.value - guessing) / (1 - guessing);
      return std::abs(expected - centred.value) <=
             centred.half_unit + cell.score.half_unit / (1 - guessing) + 1e-9;
    };
    if (fits(task->guessing) || fits(task->guessing_v2)) return {};
    return bad_input(fmt::format("{}: {}: centred {} does not follow from accuracy {}", where(),
                                 cell.label, centred.text, cell.score.text));
  }

  Result<void> add(ReportedCell cell, TableFiller::Place stage) {
    if (!is_blank_cell(text(CsvColumn::kItems))) {
      NB_TRY(const Printed items, parse_printed(text(CsvColumn::kItems), where() + ": n"));
      if (items.value < 1 || items.value > 1e12 || items.decimals > 0)
        return bad_input(fmt::format("{}: n is {}, but counts items", where(), items.text));
      cell.n = static_cast<std::int64_t>(items.value);
    }
    if (!is_blank_cell(text(CsvColumn::kError))) {
      NB_TRY(const Printed error,
             parse_printed(text(CsvColumn::kError), where() + ": standard error"));
      if (error.value < 0)
        return bad_input(
            fmt::format("{}: the standard error is {}, which is negative", where(), error.text));
      cell.standard_error = error.value;
    }
    if (!is_blank_cell(text(CsvColumn::kLow)) && !is_blank_cell(text(CsvColumn::kHigh))) {
      NB_TRY(const Printed low, parse_printed(text(CsvColumn::kLow), where() + ": low"));
      NB_TRY(const Printed high, parse_printed(text(CsvColumn::kHigh), where() + ": high"));
      cell.interval = Interval{low.value, high.value};
    }
    if (filler_.find(stage, cell.task) != nullptr)
      return bad_input(fmt::format("{}: {} stands twice", where(), cell.label));
    filler_.add(stage, std::move(cell));
    return {};
  }

  const CsvTable& csv_;
  std::vector<CsvColumn> columns_;
  ReportedTable& table_;
  TableFiller filler_;
  bool calls_accuracy_ = false;
  std::size_t row_ = 0;
};

// model,MMLU,GSM8K,…: a row per run.
bool has_tasks_in_columns(const CsvTable& csv) {
  const auto is_task = [](const std::string& header) {
    const std::string label = head_of(header).label;
    return known_task_named(label) != nullptr || !composite_named(label).empty() ||
           metric_kind(label) != nullptr;
  };
  return csv.header.size() > 1 && std::all_of(csv.header.begin() + 1, csv.header.end(), is_task);
}

CsvTable turned(const CsvTable& csv) {
  CsvTable other;
  other.where = csv.where;
  other.header.push_back(csv.header.front());
  for (const std::vector<std::string>& row : csv.rows) other.header.push_back(row.front());
  for (std::size_t column = 1; column < csv.header.size(); ++column) {
    other.rows.push_back({csv.header[column]});
    for (const std::vector<std::string>& row : csv.rows) other.rows.back().push_back(row[column]);
    other.lines.push_back(1);
  }
  return other;
}

// One column a run: task,GPU MID,NPU MID,…
Result<void> read_wide(const CsvTable& csv, ReportedTable& table) {
  TableFiller filler(table);
  for (std::size_t row = 0; row < csv.rows.size(); ++row)
    for (std::size_t i = 1; i < csv.header.size(); ++i) {
      const std::string_view text = trimmed(csv.rows[row][i]);
      if (is_blank_cell(text)) continue;
      const std::string where = fmt::format("{}:{}", csv.where, csv.lines[row]);
      const ColumnName name = column_name(csv.header[i]);
      NB_TRY(Printed number,
             parse_printed(text, fmt::format("{}: column \"{}\"", where, csv.header[i])));
      const Head task = head_of(csv.rows[row][0]);
      ReportedCell cell = cell_of(task.label, std::move(number), csv.lines[row]);
      say_head(task, cell);
      set_aside_if_no_share(cell);
      const auto stage = filler.place(name.run.empty() ? table.name : name.run, name.stage);
      if (filler.find(stage, cell.task) != nullptr)
        return bad_input(
            fmt::format("{}: {} stands twice in column \"{}\"", where, cell.label, csv.header[i]));
      filler.add(stage, std::move(cell));
    }
  return {};
}

}  // namespace

Result<ReportedTable> parse_csv_table(std::string_view text, const std::string& where) {
  NB_TRY(const CsvTable csv, parse_csv(text, where, CsvFormulas::kUnquoted));
  ReportedTable table;
  table.name = where;
  std::vector<CsvColumn> columns;
  std::vector<std::string> unknown;
  bool has_scores = false;
  for (const std::string& header : csv.header) {
    const Name* name = named(header);
    columns.push_back(name == nullptr ? CsvColumn::kIgnored : name->column);
    if (name == nullptr)
      unknown.emplace_back(trimmed(header));
    else
      has_scores = has_scores || name->column == CsvColumn::kAccuracy ||
                   name->column == CsvColumn::kCentred || name->column == CsvColumn::kValue;
  }
  // task,metric,value: both columns are called a task where they stand alone.
  if (std::ranges::count(columns, CsvColumn::kTask) > 1)
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (lowered(trimmed(csv.header[i])) == "metric") columns[i] = CsvColumn::kMetric;
  const bool has_task = std::ranges::find(columns, CsvColumn::kTask) != columns.end();
  if (std::ranges::find(columns, CsvColumn::kRun) == columns.end())
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (lowered(trimmed(csv.header[i])) == "model") columns[i] = CsvColumn::kRun;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns[i] == CsvColumn::kIgnored && named(csv.header[i]) != nullptr)
      table.ignored.push_back(message("table.column", trimmed(csv.header[i])));
  if (has_scores && !has_task)
    return bad_input(fmt::format("{}:1: no column \"task\"; the columns are {}", where,
                                 fmt::join(csv.header, ", ")));
  if (has_scores && !unknown.empty())
    return bad_input(fmt::format(
        "{}:1: unknown column \"{}\"{}; known are task, accuracy, centred, n, stderr, low, high, "
        "run, stage, device",
        where, unknown.front(),
        did_you_mean(unknown.front(),
                     std::vector<std::string>{"task", "accuracy", "centred", "n", "stderr", "low",
                                              "high", "run", "stage", "device"})));
  if (has_scores) {
    RowReader reader(csv, std::move(columns), table);
    for (std::size_t row = 0; row < csv.rows.size(); ++row) {
      NB_TRY_VOID(reader.read(row));
    }
  } else {
    if (csv.header.size() < 2)
      return bad_input(where + ":1: one column only; expected task,accuracy[,n]");
    NB_TRY_VOID(read_wide(has_tasks_in_columns(csv) ? turned(csv) : csv, table));
  }
  // Nanochat's CSV of CORE has both columns: its sizes are the full ones (finish_cells).
  NB_TRY_VOID(finish_cells(table));
  NB_TRY_VOID(needs_numbers(table));
  return table;
}

}  // namespace nb
