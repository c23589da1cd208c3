#include "results/audit/read_parts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <utility>

#include "results/audit/known_tasks.hpp"

namespace nb {
namespace {

constexpr auto kStages =
    std::to_array<std::string_view>({"BASE", "MID", "SFT", "RL", "CPT", "DPO"});

// Headers of the only column of a table.
constexpr auto kNoNames =
    std::to_array<std::string_view>({"score", "accuracy", "acc", "value", "result", "ours"});

std::string upper(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

bool is_stage(std::string_view word) {
  return std::ranges::find(kStages, upper(word)) != kStages.end();
}

bool is_score(const ReportedCell& cell) { return cell.scale != Scale::kOther; }

std::string place(const ReportedTable& table, const ReportedCell& cell) {
  return cell.line > 0 ? fmt::format("{}:{}", table.name, cell.line) : table.name;
}

bool has_composite(const ReportedRun& run) {
  return std::ranges::any_of(run.stages, [](const ReportedStage& stage) {
    return std::ranges::any_of(
        stage.cells, [](const ReportedCell& cell) { return cell.scale == Scale::kComposite; });
  });
}

}  // namespace

std::vector<Line> lines_of(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::vector<Line> lines;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    // A progress bar writes over its own line: each state of it is one, with the same number.
    for (std::size_t at = line.find('\r'); at != line.npos; at = line.find('\r')) {
      lines.push_back({line.substr(0, at), number});
      line.remove_prefix(at + 1);
    }
    lines.push_back({line, number});
  }
  return lines;
}

std::string_view trimmed_text(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t\r\n");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string lower_text(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

ColumnName column_name(std::string_view header) {
  std::vector<std::string> words;
  std::string word;
  for (const char c : header) {
    if (c == ' ' || c == '\t' || c == '/' || c == '_' || c == '(' || c == ')') {
      if (!word.empty()) words.push_back(std::exchange(word, {}));
    } else {
      word += c;
    }
  }
  if (!word.empty()) words.push_back(word);
  ColumnName name;
  for (const std::string& part : words) {
    if (name.stage.empty() && is_stage(part))
      name.stage = upper(part);
    else
      name.run += (name.run.empty() ? "" : " ") + part;
  }
  if (name.stage.empty()) name.run = std::string(trimmed_text(header));
  if (std::ranges::find(kNoNames, lower_text(name.run)) != kNoNames.end()) name.run.clear();
  return name;
}

ReportedStage& stage_of(ReportedTable& table, const std::string& run, const std::string& stage) {
  auto found_run =
      std::ranges::find_if(table.runs, [&](const ReportedRun& r) { return r.name == run; });
  if (found_run == table.runs.end()) {
    table.runs.emplace_back();
    table.runs.back().name = run;
    found_run = table.runs.end() - 1;
  }
  auto& stages = found_run->stages;
  const auto found =
      std::ranges::find_if(stages, [&](const ReportedStage& s) { return s.name == stage; });
  if (found != stages.end()) return *found;
  stages.emplace_back();
  stages.back().name = stage;
  return stages.back();
}

ReportedCell cell_of(std::string_view label, Printed score, std::size_t line) {
  ReportedCell cell;
  cell.label = std::string(trimmed_text(label));
  cell.score = std::move(score);
  cell.line = line;
  for (const std::string_view sign : {"±", "+-", "+/-"}) {
    if (!cell.score.unit.starts_with(sign)) continue;
    const auto error = parse_printed(std::string_view(cell.score.unit).substr(sign.size()), "");
    if (!error || !error->unit.empty() || error->value < 0) continue;
    cell.standard_error = error->value;
    cell.score.unit.clear();
  }
  if (const std::string_view composite = composite_named(label); !composite.empty()) {
    cell.task = std::string(composite);
    cell.scale = Scale::kComposite;
  } else if (const KnownTask* task = known_task_named(cell.label)) {
    cell.task = std::string(task->id);
  } else {
    cell.task = cell.label;
  }
  return cell;
}

Result<void> finish_cells(ReportedTable& table, Percent percent) {
  std::size_t unsigned_scores = 0, above_one = 0;
  for (const ReportedRun& run : table.runs)
    for (const ReportedStage& stage : run.stages)
      for (const ReportedCell& cell : stage.cells) {
        if (!is_score(cell)) continue;
        if (!cell.score.unit.empty())
          return bad_input(fmt::format("{}: {} is \"{}\", which is not one number",
                                       place(table, cell), cell.label, cell.score.text));
        const double size = std::abs(cell.score.value);
        if (size > 100)
          return bad_input(fmt::format("{}: {} is {}, which is no accuracy", place(table, cell),
                                       cell.label, cell.score.text));
        if (cell.score.text.find('%') != std::string::npos) continue;
        ++unsigned_scores;
        if (size > 1) ++above_one;
      }
  const bool is_percent =
      percent == Percent::kGuessed && above_one > 0 && 2 * above_one >= unsigned_scores;
  for (ReportedRun& run : table.runs) {
    const bool is_nanochat = has_composite(run);
    for (ReportedStage& stage : run.stages)
      for (ReportedCell& cell : stage.cells) {
        if (!is_score(cell)) continue;
        if (is_percent && cell.score.text.find('%') == std::string::npos) {
          cell.score.value /= 100;
          cell.score.decimals += 2;
          cell.score.half_unit /= 100;
          if (cell.standard_error) *cell.standard_error /= 100;
        }
        const KnownTask* task = find_known_task(cell.task);
        if (cell.scale == Scale::kAccuracy && (cell.score.value < 0 || cell.score.value > 1))
          return bad_input(fmt::format(
              "{}: {} is {}, but an accuracy lies between 0 and 1 (a centred score belongs into a "
              "column \"centred\")",
              place(table, cell), cell.label, cell.score.text));
        if (!cell.n && task != nullptr && is_nanochat) {
          cell.n = task->items;
          cell.is_n_assumed = true;
        }
      }
  }
  return {};
}

Result<void> needs_numbers(const ReportedTable& table) {
  for (const ReportedRun& run : table.runs) {
    if (!run.facts.empty()) return {};
    for (const ReportedStage& stage : run.stages)
      if (!stage.cells.empty() || !stage.facts.empty()) return {};
  }
  return bad_input(table.name +
                   ": no number that the audit knows: expected task scores, or facts of a training "
                   "such as tokens, tok/s, parameters");
}

}  // namespace nb
