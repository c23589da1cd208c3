// The table that evalscope prints at the end of an evaluation: a row a subset, in an ASCII or box
// grid. Old releases head it "Model Name", "Dataset Name", …; new ones write "Accuracy ↑"
// and 85.7%.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "results/audit/printed_tables.hpp"
#include "results/audit/read_parts.hpp"
#include "results/import/late_tables.hpp"
#include "results/import/readers.hpp"
#include "results/messages/sentences.hpp"

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNone = std::string_view::npos;
constexpr const char* kEvalScope = "evalscope";
// Of the table's header; the rarest first.
constexpr std::string_view kHeader[] = {"Subset", "Model", "Dataset", "Metric", "Num", "Score"};
constexpr const char* kOverall = "OVERALL";  // evalscope/report/report.py: ReportKey

struct Columns {
  std::size_t model, dataset, metric, subset, n, score;
  bool all() const { return std::max({model, dataset, metric, subset, n, score}) != kNone; }
};

Columns columns_of(const std::vector<std::string>& header) {
  const auto at = [&](std::string_view now, std::string_view before) {
    const std::size_t column = column_of(header, now);
    return column == kNone ? column_of(header, before) : column;
  };
  return {at("model", "model name"),
          at("dataset", "dataset name"),
          at("metric", "metric name"),
          at("subset", "subset name"),
          at("num", "num"),
          at("score", "score")};
}

bool is_evalscope_table(const PrintedTable& table) { return columns_of(table.rows.front()).all(); }

struct Row {
  std::string model, dataset, metric, subset;
  std::int64_t n = 0;
  double score = 0;
  std::optional<Direction> direction;
};

// Nothing for a row without a score.
Result<std::optional<Row>> row_in(const std::vector<std::string>& cells, const Columns& columns,
                                  const std::string& where) {
  const auto cell = [&](std::size_t column) {
    return column < cells.size() ? without_marks(cells[column]) : std::string();
  };
  if (is_blank_cell(cell(columns.score)) || cell(columns.model).empty()) return std::nullopt;
  Row row;
  row.model = cell(columns.model);
  row.dataset = cell(columns.dataset);
  const Head metric = head_of(cell(columns.metric));
  row.metric = metric.metric.empty() ? metric.label : metric.metric;
  // Reports name the mean of "acc" "mean_acc".
  if (row.metric.starts_with("mean_")) row.metric.erase(0, 5);
  row.direction = metric.direction;
  row.subset = cell(columns.subset);
  NB_TRY(const Printed score, parse_printed(cell(columns.score), where + ": " + row.dataset));
  row.score = score.value;
  NB_TRY(const Printed n, parse_printed(cell(columns.n), where + ": Num"));
  row.n = n.value >= 1 && n.value < 1e12 ? static_cast<std::int64_t>(n.value) : 0;
  return row;
}

void add(const std::vector<Row>& rows, const fs::path& path, ForeignBuilder& builder) {
  using Key = std::tuple<std::string, std::string, std::string>;  // model, dataset, metric
  std::map<Key, std::set<std::string>> subsets;
  for (const Row& row : rows) subsets[{row.model, row.dataset, row.metric}].insert(row.subset);
  for (const Row& row : rows) {
    const auto& names = subsets[{row.model, row.dataset, row.metric}];
    const bool has_total = names.contains(kOverall);
    const bool is_total = row.subset == kOverall || names.size() == 1;
    ForeignRun& run = builder.file_run(kEvalScope, row.model, "", path, path.stem().string());
    builder.printed(run);
    const SeriesName name{row.dataset, is_total ? "" : row.subset, row.metric};
    const auto before = std::ranges::find(run.series, name, &ForeignSeries::name);
    if (before != run.series.end()) {
      if (before->reported != row.score)
        builder.ignore(message("import.stands_twice", path.string(),
                               fmt::format("{} {}", row.dataset, row.metric),
                               fmt::format("{}", *before->reported), fmt::format("{}", row.score)));
      continue;
    }
    ForeignSeries& series = builder.series(run, name);
    series.reported = row.score;
    series.reported_n = row.n;
    series.direction = row.direction;
    const bool is_first = std::ranges::none_of(run.series, [&](const ForeignSeries& one) {
      return one.name.task == row.dataset && one.name.metric != row.metric;
    });
    series.primary = is_first && (is_total || !has_total);
  }
}

}  // namespace

bool is_evalscope_printed(const FileHead& head) {
  return holds_late_table(head, kHeader, [](std::string_view text) {
    return std::ranges::any_of(printed_tables(text), is_evalscope_table);
  });
}

Result<void> read_evalscope_printed(const fs::path& path, ForeignBuilder& builder) {
  NB_TRY(const std::string text, text_around_tables(path, kHeader));
  std::vector<Row> rows;
  for (const PrintedTable& table : printed_tables(text)) {
    if (!is_evalscope_table(table)) continue;
    const Columns columns = columns_of(table.rows.front());
    for (std::size_t i = 1; i < table.rows.size(); ++i) {
      NB_TRY(auto row,
             row_in(table.rows[i], columns, fmt::format("{}:{}", path.string(), table.lines[i])));
      if (row) rows.push_back(std::move(*row));
    }
  }
  add(rows, path, builder);
  return {};
}

}  // namespace nb
