// nanochat's report card (report.py, until 2026-07-02): metrics × BASE, MID, SFT, RL, with what it
// never had, intervals and the other device beside it. Rows in its order: CORE first, ChatCORE
// last, others by name.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "report/sections.hpp"

namespace nb {
namespace {

constexpr std::array<const char*, 4> kTitles = {"BASE", "MID", "SFT", "RL"};

int rank_of(const std::string& task) {
  const std::string last =
      task.substr(task.rfind('/') == std::string::npos ? 0 : task.rfind('/') + 1);
  if (last == "core") return 0;
  return last == "chatcore" ? 2 : 1;
}

// As nanochat's table calls them; generated tasks keep their own names, they are other tasks.
std::string row_name(const std::string& task) {
  constexpr std::array<std::array<const char*, 2>, 7> kNames = {{{"core", "CORE"},
                                                                 {"chatcore", "ChatCORE"},
                                                                 {"arc_easy", "ARC-Easy"},
                                                                 {"arc_challenge", "ARC-Challenge"},
                                                                 {"mmlu", "MMLU"},
                                                                 {"gsm8k", "GSM8K"},
                                                                 {"humaneval", "HumanEval"}}};
  for (const auto& [ours, theirs] : kNames)
    if (task == ours) return theirs;
  return task;
}

std::string cell_text(const ScoreCell& cell) {
  if (!cell.raw) return "-";
  std::string text = fmt::format("{:.4f}", *cell.raw);
  if (cell.interval)
    text += fmt::format("\n[{:.4f}, {:.4f}]", cell.interval->low, cell.interval->high);
  return text;
}

// "3h35m" between the first node's start and the last one's end, as records say; nothing where
// they do not.
std::string wall_time(const RunRecords& run) {
  std::string first, last;
  for (const StoredRecord& stored : run.records) {
    const Json& e = *stored.record.environment;
    const Json started = e.value("started_at", Json());
    const std::string begin = started.is_string() ? started.get<std::string>() : std::string();
    const std::string end = finished_at(stored.record);
    if (!begin.empty() && (first.empty() || begin < first)) first = begin;
    if (!end.empty() && end > last) last = end;
  }
  const auto seconds = [](const std::string& text) -> std::optional<std::time_t> {
    std::tm time = {};
    // 2026-11-24T17:29:46Z
    if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr) return std::nullopt;
    return timegm(&time);
  };
  const auto begin = seconds(first), end = seconds(last);
  if (!begin || !end || *end < *begin) return "";
  const auto minutes = (*end - *begin) / 60;
  return fmt::format("{}h{}m", minutes / 60, minutes % 60);
}

}  // namespace

std::vector<Block> card_blocks(const ReportContext& context) {
  const Words& say = context.say;
  struct Column {
    std::size_t stage;
    std::string device;
    const ScoreTable* table;
    std::size_t model;
  };
  std::vector<Column> columns;
  std::set<std::pair<int, std::string>> tasks;
  for (const ScoreTable& table : context.scores)
    for (std::size_t m = 0; m < table.models.size(); ++m) {
      const ScoreModel& model = table.models[m];
      if (model.stage >= kTitles.size()) continue;
      const std::string where = model.side.empty() ? model.device : model.side + ": " + model.name;
      columns.push_back({model.stage, where, &table, m});
      for (std::size_t t = 0; t < table.tasks.size(); ++t)
        if (table.cells[m][t].raw && table.cells[m][t].unit == "1")
          tasks.insert({rank_of(table.tasks[t]), table.tasks[t]});
    }
  if (tasks.empty()) return {Paragraph{say("no_card_stages")}};
  // A column a stage and device, stages as nanochat trains them.
  std::set<std::pair<std::size_t, std::string>> heads;
  for (const Column& column : columns) heads.insert({column.stage, column.device});
  TextTable table{{say("metric")}, {}};
  for (const auto& [stage, device] : heads)
    table.header.push_back(device.empty() ? kTitles[stage]
                                          : std::string(kTitles[stage]) + "\n" + device);
  for (const auto& [rank, task] : tasks) {
    auto& row = table.rows.emplace_back();
    row.push_back(row_name(task));
    for (const auto& [stage, device] : heads) {
      std::string cell = "-";
      for (const Column& column : columns) {
        if (column.stage != stage || column.device != device) continue;
        const auto at = std::ranges::find(column.table->tasks, task);
        if (at == column.table->tasks.end()) continue;
        const auto t = static_cast<std::size_t>(at - column.table->tasks.begin());
        if (const ScoreCell& one = column.table->cells[column.model][t]; one.raw)
          cell = cell_text(one);
      }
      row.push_back(cell);
    }
  }
  std::vector<Block> blocks = {Paragraph{say("card_how")}, TableBlock{"", std::move(table)}};
  if (const std::string time = wall_time(*context.input.run); !time.empty())
    blocks.emplace_back(Paragraph{say("card_wall", time)});
  return blocks;
}

}  // namespace nb
