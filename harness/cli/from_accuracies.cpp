#include "harness/cli/from_accuracies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/say.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "harness/cli/common.hpp"
#include "results/audit/aggregates.hpp"
#include "results/audit/grim.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/read_table.hpp"
#include "results/text/format.hpp"

namespace nb::cli {
namespace {

struct Row {
  std::string column;  // run and stage; empty: the table has one
  Aggregate aggregate;
};

struct Composites {
  std::vector<Row> rows;
  std::vector<std::string> missing;  // sentences
  bool has_assumed_sizes = false;
};

std::string column_of(const ReportedTable& table, const ReportedRun& run,
                      const ReportedStage& stage) {
  std::string column = run.name == table.name ? "" : run.name;
  if (!stage.name.empty()) column += (column.empty() ? "" : " ") + stage.name;
  return column;
}

// Where no n is said it is taken for the full test set, or for what all scores are shares of.
ReportedStage with_sizes(const ReportedStage& stage, bool& has_assumed) {
  ReportedStage sized = stage;
  for (ReportedCell& cell : sized.cells) {
    const KnownTask* task = find_known_task(cell.task);
    if (task == nullptr || cell.standard_error) continue;
    if (!cell.n) {
      cell.n = task->items;
      cell.is_n_assumed = true;
    }
    has_assumed = has_assumed || cell.is_n_assumed;
  }
  if (const std::int64_t limit = common_limit(sized); limit > 0)
    for (ReportedCell& cell : sized.cells)
      if (cell.is_n_assumed && cell.n) cell.n = std::min(*cell.n, limit);
  return sized;
}

Composites composites_of(const ReportedTable& table) {
  Composites all;
  for (const ReportedRun& run : table.runs)
    for (const ReportedStage& stage : run.stages) {
      const std::string column = column_of(table, run, stage);
      for (Aggregate& aggregate : aggregates_of(with_sizes(stage, all.has_assumed_sizes))) {
        if (aggregate.value) {
          all.rows.push_back({column, std::move(aggregate)});
        } else if (aggregate.name != "core_v2") {  // lacks the same tasks as core
          all.missing.push_back(
              fmt::format("{}{}", column.empty() ? "" : column + ": ", missing_text(aggregate)));
        }
      }
    }
  return all;
}

std::string_view meaning(std::string_view composite) {
  if (composite == "core") return "22 tasks, v1";
  if (composite == "core_v2") return "22 tasks, v2";
  return composite == "chatcore" ? "5 tasks" : "6 tasks";
}

std::string text_of(const Composites& all) {
  TextTable table{{"column", "composite", "value", "95 %", "mean of"}, {}};
  for (const auto& [column, aggregate] : all.rows)
    table.rows.push_back(
        {column, aggregate.name, fmt::format("{:.4f}", *aggregate.value),
         aggregate.interval
             ? fmt::format("[{:.4f}, {:.4f}]", aggregate.interval->low, aggregate.interval->high)
             : "",
         std::string(meaning(aggregate.name))});
  const bool has_columns =
      std::ranges::any_of(all.rows, [](const Row& row) { return !row.column.empty(); });
  if (!has_columns) {
    table.header.erase(table.header.begin());
    for (auto& cells : table.rows) cells.erase(cells.begin());
  }
  std::string text = all.rows.empty() ? "" : to_text(table, output_width());
  for (const std::string& sentence : all.missing)
    for (const std::string& line : broken_lines(visible_line(sentence), sentence_width()))
      text += line + "\n";
  if (all.has_assumed_sizes)
    text +=
        "Where no n is said, intervals take the full test set, or the items per task that\n"
        "all scores are shares of.\n";
  if (std::ranges::any_of(all.rows, [](const Row& row) { return row.aggregate.tasks > 6; }))
    text += "v1: accuracies of guessing as nanochat has them; v2: DCLM's later ones.\n";
  if (!all.rows.empty())
    text += "Intervals: sampling of the items alone; another training seed moves more.\n";
  return text;
}

Json json_of(const Composites& all, const std::string& name) {
  Json rows = Json::array();
  for (const auto& [column, aggregate] : all.rows) {
    const auto& interval = aggregate.interval;
    rows.push_back({{"column", column},
                    {"composite", aggregate.name},
                    {"value", *aggregate.value},
                    {"tasks", aggregate.tasks},
                    {"interval95", interval_json(interval)},
                    {"standard_error", optional_json(aggregate.standard_error)}});
  }
  return {{"schema", "npubench.composites/1"},
          {"table", name},
          {"composites", std::move(rows)},
          {"missing", all.missing},
          {"sizes_assumed", all.has_assumed_sizes}};
}

}  // namespace

int eval_from_accuracies(const std::string& path, bool json) {
  const auto table = read_table(path);
  if (!table) return fail(table.error());
  const Composites all = composites_of(*table);
  if (all.rows.empty() && all.missing.empty())
    return fail(
        {ErrorCode::kBadInput, path + ": no task of CORE or ChatCORE in it (npubench list tasks)"});
  if (json) {
    print_json(json_of(all, table->name));
  } else if (!all.rows.empty()) {
    say("{}", text_of(all));
  }
  if (!all.rows.empty()) return kExitOk;
  return fail({ErrorCode::kBadInput, fmt::format("{}: {}", path, all.missing.front())});
}

}  // namespace nb::cli
