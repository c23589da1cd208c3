// Summaries of open-compass/opencompass and AISBench: a row a dataset and metric, a column a model.
// As summary_<time>.csv, .md and .txt, and as their terminals print them (tabulate's "simple" and
// "grid").
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "harness/base/ascii.hpp"
#include "harness/base/byte_order_mark.hpp"
#include "harness/base/csv.hpp"
#include "harness/base/fs.hpp"
#include "results/audit/printed_tables.hpp"
#include "results/audit/read_parts.hpp"
#include "results/foreign/lines.hpp"
#include "results/foreign/metric_kinds.hpp"
#include "results/import/late_tables.hpp"
#include "results/import/opencompass.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

constexpr auto kColumns = std::to_array<std::string_view>({"dataset", "version", "metric", "mode"});
// Of a printed header; a log has "version" less often than "dataset".
constexpr auto kPrintedHeader =
    std::to_array<std::string_view>({"version", "dataset", "metric", "mode"});
constexpr double kRounded = 0.005 + 1e-9;  // summaries have two decimals of a percentage

// Datasets of a group, whose mean the row of the group's name is:
// open-compass/opencompass @ a5acc4bb: opencompass/configs/summarizers/groups.
struct Group {
  std::string_view name, beginning;
};
constexpr auto kGroups = std::to_array<Group>({{"mmlu", "lukaemon_mmlu_"},
                                               {"cmmlu", "cmmlu-"},
                                               {"ceval", "ceval-"},
                                               {"bbh", "bbh-"},
                                               {"agieval", "agieval-"},
                                               {"mmlu_pro", "mmlu_pro_"}});

struct Cell {
  double value = 0;  // as it stands
  std::size_t decimals = 0;
  std::optional<std::int64_t> right;  // "(7/8)"
  std::int64_t of = 0;
};

std::optional<double> decimal(std::string_view text) {
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || stop != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// "82.00" or AISBench's "82.00 (7/8)".
std::optional<Cell> cell_in(std::string_view text) {
  Cell cell;
  if (const std::size_t open = text.find('('); open != text.npos) {
    const std::string_view share = text.substr(open + 1, text.find(')', open) - open - 1);
    const std::size_t slash = share.find('/');
    if (slash == share.npos) return std::nullopt;
    const auto right = decimal(share.substr(0, slash)), of = decimal(share.substr(slash + 1));
    if (!right || !of || *of < 1 || *right > *of) return std::nullopt;
    cell.right = count_of(*right);
    cell.of = count_of(*of);
    text = text.substr(0, open);
  }
  while (text.ends_with(' ')) text.remove_suffix(1);
  const auto value = decimal(text);
  if (!value) return std::nullopt;
  cell.value = *value;
  if (const std::size_t point = text.find('.'); point != text.npos)
    cell.decimals = text.size() - point - 1;
  return cell;
}

bool is_absent(const std::string& cell) { return cell.empty() || cell == "-" || cell == "nan"; }

// What a metric's numbers are in these files.
enum class Written { kPercent, kAsItIs };
Written written_as(const std::string& metric) {
  // AISBench @ 29c363e: tasks/custom_tasks/harbor_task.py, the mean reward of the trials.
  if (metric == "avg_score") return Written::kAsItIs;
  // opencompass @ a5acc4bb: openicl/icl_evaluator multiplies by 100; summarizers/default.py takes
  // means of such.
  static constexpr auto kOwn = std::to_array<std::string_view>(
      {"score", "naive_average", "weighted_average", "harmonic_mean", "standard_deviation",
       "auc_score", "matthews_correlation", "extract_rate", "truth"});
  if (std::ranges::find(kOwn, std::string_view(metric)) != kOwn.end()) return Written::kPercent;
  const MetricKind* kind = metric_kind(metric);
  return kind != nullptr && kind->quantity == Quantity::kShare ? Written::kPercent
                                                               : Written::kAsItIs;
}

class Summary {
 public:
  Summary(const fs::path& path, const CsvTable& table, ForeignBuilder& builder)
      : path_(path),
        table_(table),
        builder_(builder),
        stamp_(opencompass_stamp(fs::absolute(path))) {
    counted_ = table.header.size() > 4 && table.header[4] == "total_count";
  }

  Result<void> read() {
    for (std::size_t column = counted_ ? 5 : 4; column < table_.header.size(); ++column)
      NB_TRY_VOID(read_model(column));
    return {};
  }

 private:
  Result<void> read_model(std::size_t column) {
    ForeignRun& run = builder_.run(kOpenCompass, table_.header[column]);
    run.files.push_back(path_);
    std::string dataset;
    for (std::size_t row = 0; row < table_.rows.size(); ++row) {
      const std::vector<std::string>& cells = table_.rows[row];
      if (is_absent(cells[column])) continue;
      const auto cell = cell_in(cells[column]);
      if (!cell)
        return bad_input(fmt::format("{}:{}: \"{}\" is no score", path_.string(), table_.lines[row],
                                     cells[column]));
      if (is_absent(cells[2])) continue;  // a heading, with the mean of what stands below it
      const bool is_first = cells[0] != dataset;
      dataset = cells[0];
      if (!builder_.is_latest(run, dataset, stamp_, path_)) continue;
      take(run, row, *cell, is_first);
    }
    join_groups(run);
    return {};
  }

  // A percentage is one whatever its size: 0.61 is 1 of 164. Digits beyond the two that these
  // programs print, or the counts beside it, tell a share.
  double share_of(ForeignRun& run, std::size_t row, const Cell& cell) {
    const std::vector<std::string>& cells = table_.rows[row];
    if (cell.right) {
      const double share = static_cast<double>(*cell.right) / static_cast<double>(cell.of);
      if (std::fabs(share - cell.value) < 0.0051 && std::fabs(share - cell.value / 100) >= 0.0051)
        return 1;
      if (std::fabs(share - cell.value / 100) > 0.0051)
        run.notes.push_back(message("import.right_of", place_of(row), cell_text(row, cell),
                                    fmt::format("{}", *cell.right), fmt::format("{}", cell.of),
                                    fmt::format("{:.4f}", share)));
      return 0.01;
    }
    if (cell.decimals <= 2 || cell.value > 1) return 0.01;
    run.notes.push_back(message("import.taken_for_share", place_of(row), cells[0], cells[2],
                                fmt::format("{}", cell.value)));
    return 1;
  }

  std::string place_of(std::size_t row) const {
    return fmt::format("{}:{}", path_.filename().string(), table_.lines[row]);
  }

  std::string cell_text(std::size_t row, const Cell& cell) const {
    for (std::size_t column = 4; column < table_.header.size(); ++column)
      if (const auto other = cell_in(table_.rows[row][column]);
          other && other->value == cell.value && other->right == cell.right)
        return table_.rows[row][column];
    return fmt::format("{}", cell.value);
  }

  void take(ForeignRun& run, std::size_t row, const Cell& cell, bool is_first) {
    const std::vector<std::string>& cells = table_.rows[row];
    ForeignSeries& series = builder_.series(run, {cells[0], "", cells[2]});
    const bool is_percent = written_as(cells[2]) == Written::kPercent;
    const double scale = is_percent ? share_of(run, row, cell) : 1;
    const double value = cell.value * scale;
    // The results of the dataset itself are not rounded.
    if (series.reported && std::fabs(*series.reported - value) > kRounded * scale)
      run.notes.push_back(message("import.two_values_later", cells[0] + " " + cells[2],
                                  fmt::format("{}", *series.reported), fmt::format("{}", value)));
    if (!series.reported || std::fabs(*series.reported - value) > kRounded * scale)
      series.reported = value;
    series.primary = is_first && !is_absent(cells[1]);
    if (is_percent) {
      if (cells[2] != "standard_deviation" && metric_kind(cells[2]) == nullptr)
        series.direction = Direction::kHigher;
      series.is_share = cells[2] == "score";
      series.unit = "1";
    }
    if (counted_) series.reported_n = count_of(decimal(cells[4]).value_or(0));
    if (cell.right) series.reported_n = cell.of;
    // A hash of the prompt and the settings; groups have none.
    if (!is_absent(cells[1]) && cells[1] != "/") series.must_match["version"] = cells[1];
    if (!is_absent(cells[3])) builder_.say(run, "mode:" + cells[0], cells[3]);
  }

  // The row of a group is the score, its datasets are looked at below it.
  static void join_groups(ForeignRun& run) {
    for (const Group& group : kGroups) {
      const auto is_row = [&](const ForeignSeries& one) { return one.name.task == group.name; };
      const auto is_part = [&](const ForeignSeries& one) {
        return one.name.task.starts_with(group.beginning) && one.name.task != group.name;
      };
      const auto row = std::ranges::find_if(run.series, is_row);
      if (row == run.series.end() || std::ranges::none_of(run.series, is_part)) continue;
      if (std::ranges::none_of(
              run.series, [&](const ForeignSeries& one) { return is_row(one) && one.primary; }))
        row->primary = true;
      for (ForeignSeries& one : run.series)
        if (is_part(one)) one.part_of = group.name;
    }
  }

  fs::path path_;
  const CsvTable& table_;
  ForeignBuilder& builder_;
  std::string stamp_;
  bool counted_ = false;
};

bool has_columns(const std::vector<std::string>& header) {
  if (header.size() <= kColumns.size()) return false;
  for (std::size_t i = 0; i < kColumns.size(); ++i)
    if (without_marks(header[i]) != kColumns[i]) return false;
  return true;
}

// tabulate's "simple": columns lie below runs of dashes.
std::vector<PrintedTable> simple_tables(std::string_view text) {
  std::vector<PrintedTable> tables;
  const std::vector<Line> lines = lines_of(text);
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string_view rule = trimmed(lines[i].text);
    if (!rule.starts_with("--") || rule.find_first_not_of("- ") != rule.npos ||
        rule.find(' ') == rule.npos || !trimmed(lines[i - 1].text).starts_with("dataset"))
      continue;
    std::vector<std::size_t> begins;
    for (std::size_t at = 0; at < lines[i].text.size(); ++at)
      if (lines[i].text[at] == '-' && (at == 0 || lines[i].text[at - 1] == ' '))
        begins.push_back(at);
    const auto cells_of = [&](std::string_view line) {
      std::vector<std::string> cells;
      for (std::size_t k = 0; k < begins.size(); ++k) {
        const std::size_t begin = std::min(begins[k], line.size());
        const std::size_t end =
            k + 1 < begins.size() ? std::min(begins[k + 1], line.size()) : line.size();
        cells.emplace_back(trimmed(line.substr(begin, end - begin)));
      }
      return cells;
    };
    PrintedTable table;
    const auto add = [&](const Line& line) {
      table.rows.push_back(cells_of(line.text));
      table.lines.push_back(line.number);
      table.indents.push_back(0);
    };
    add(lines[i - 1]);
    for (++i; i < lines.size(); ++i) {
      const std::string_view line = trimmed(lines[i].text);
      if (line.empty() || line.starts_with("$") || line.starts_with("^")) break;
      add(lines[i]);
    }
    tables.push_back(std::move(table));
  }
  return tables;
}

// The first table of that form: all that a summary's text holds say the same.
std::optional<CsvTable> printed_summary(std::string_view text, const std::string& where) {
  for (const auto& tables : {printed_tables(text), simple_tables(text)})
    for (const PrintedTable& printed : tables) {
      if (!has_columns(printed.rows.front())) continue;
      CsvTable table;
      table.where = where;
      for (const std::string& name : printed.rows.front())
        table.header.push_back(without_marks(name));
      for (std::size_t i = 1; i < printed.rows.size(); ++i) {
        std::vector<std::string> row;
        for (const std::string& cell : printed.rows[i]) row.push_back(without_marks(cell));
        row.resize(table.header.size());
        table.rows.push_back(std::move(row));
        table.lines.push_back(printed.lines[i]);
      }
      return table;
    }
  return std::nullopt;
}

// Lines between "csv format" and the next row of dollars of a summary_<time>.txt.
struct CsvPart {
  std::string_view text;
  std::size_t lines_before = 0;
};
std::optional<CsvPart> csv_part(std::string_view text) {
  const std::size_t title = text.find("csv format\n");
  if (title == text.npos) return std::nullopt;
  std::size_t begin = text.find("dataset,version,metric,mode,", title);
  if (begin == text.npos) return std::nullopt;
  const std::size_t end = std::min(text.find("\n$", begin), text.size() - 1) + 1;
  return CsvPart{text.substr(begin, end - begin),
                 static_cast<std::size_t>(std::ranges::count(text.substr(0, begin), '\n'))};
}

}  // namespace

std::string opencompass_stamp(const fs::path& path) {
  constexpr std::string_view kForm = "dddddddd_dddddd";
  const auto fits = [&](std::string_view text) {
    for (std::size_t i = 0; i < kForm.size(); ++i)
      if (kForm[i] == 'd' ? text[i] < '0' || text[i] > '9' : text[i] != kForm[i]) return false;
    return true;
  };
  std::string stamp;
  for (const fs::path& part : path.parent_path())
    if (const std::string name = part.string(); name.size() == kForm.size() && fits(name))
      stamp = name;
  const std::string stem = path.stem().string();
  if (stamp.empty() && stem.starts_with("summary_") && stem.size() == 8 + kForm.size() &&
      fits(std::string_view(stem).substr(8)))
    stamp = stem.substr(8);
  return stamp;
}

bool is_opencompass_summary(const FileHead& head) {
  return without_byte_order_mark(head.bytes).starts_with("dataset,version,metric,mode,");
}

Result<void> read_opencompass_summary(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const CsvTable table, read_csv(path));
  if (!has_columns(table.header))
    return bad_input(
        fmt::format("{}:1: the columns are not dataset, version, metric, mode and "
                    "one a model",
                    path.string()));
  return Summary(path, table, builder).read();
}

bool is_opencompass_printed(const FileHead& head) {
  return !is_opencompass_summary(head) &&
         holds_late_table(head, kPrintedHeader, [](std::string_view text) {
           return csv_part(text).has_value() || printed_summary(text, "").has_value();
         });
}

Result<void> read_opencompass_printed(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const std::string text, text_around_tables(path, kPrintedHeader));
  if (const auto part = csv_part(text)) {
    auto table = parse_csv(part->text, path.string());
    if (table) {
      for (std::size_t& line : table->lines) line += part->lines_before;
      return Summary(path, *table, builder).read();
    }
    // A dataset's name with a comma: the other forms in the file hold the same.
    if (!printed_summary(text, "")) return tl::unexpected(table.error());
  }
  const auto table = printed_summary(text, path.string());
  if (!table) return bad_input(path.string() + ": no whole table of opencompass in it");
  return Summary(path, *table, builder).read();
}

}  // namespace nb
