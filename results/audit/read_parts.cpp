#include "results/audit/read_parts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <utility>

#include "harness/base/ascii.hpp"
#include "harness/base/byte_order_mark.hpp"
#include "results/audit/known_tasks.hpp"
#include "results/audit/printed_tables.hpp"
#include "results/foreign/metric_kinds.hpp"

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
  text = without_byte_order_mark(text);
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
  if (name.stage.empty()) name.run = std::string(trimmed(header));
  if (std::ranges::find(kNoNames, lowered(name.run)) != kNoNames.end()) name.run.clear();
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

std::optional<double> take_error(Printed& score) {
  std::string_view text = score.unit;
  if (text.starts_with('(') && text.ends_with(')')) text = text.substr(1, text.size() - 2);
  for (const std::string_view sign : {"±", "+-", "+/-"}) {
    if (!text.starts_with(sign)) continue;
    const auto error = parse_printed(text.substr(sign.size()), "");
    if (!error || !error->unit.empty() || error->value < 0) continue;
    score.unit.clear();
    return error->value;
  }
  return std::nullopt;
}

void set_metric(ReportedCell& cell, std::string_view metric) {
  cell.metric = std::string(metric);
  if (cell.scale == Scale::kComposite) return;
  const MetricKind* kind = metric_kind(metric);
  const bool is_accuracy = kind != nullptr && kind->quantity == Quantity::kShare &&
                           kind->direction == Direction::kHigher;
  cell.scale = is_accuracy ? Scale::kAccuracy : Scale::kOther;
}

ReportedCell cell_of(std::string_view label, Printed score, std::size_t line) {
  ReportedCell cell;
  cell.label = std::string(trimmed(label));
  cell.score = std::move(score);
  cell.line = line;
  cell.standard_error = take_error(cell.score);
  if (const std::string_view composite = composite_named(label); !composite.empty()) {
    cell.task = std::string(composite);
    cell.scale = Scale::kComposite;
  } else if (const KnownTask* task = known_task_named(cell.label)) {
    cell.task = std::string(task->id);
  } else {
    cell.task = cell.label;
    if (metric_kind(cell.label) != nullptr) set_metric(cell, cell.label);
  }
  return cell;
}

void set_aside_if_no_share(ReportedCell& cell) {
  if (cell.scale != Scale::kAccuracy || !cell.metric.empty()) return;
  if (find_known_task(cell.task) != nullptr) return;
  if (cell.score.value < 0 || cell.score.value > 100) set_metric(cell, cell.label);
}

Head head_of(std::string_view text) {
  Head head;
  std::string label = without_marks(text);
  for (const auto& [sign, direction] :
       {std::pair{"↑", Direction::kHigher}, std::pair{"↓", Direction::kLower}})
    if (const std::size_t at = label.find(sign); at != label.npos) {
      head.direction = direction;
      label.erase(at, std::string_view(sign).size());
    }
  label = std::string(trimmed(label));
  while (label.ends_with(')')) {
    const std::size_t open = label.rfind('(');
    if (open == label.npos || open == 0) break;
    const std::string inner(
        trimmed(std::string_view(label).substr(open + 1, label.size() - open - 2)));
    const std::size_t shot = inner.find_first_not_of("0123456789");
    if (inner == "%")
      head.is_percent = true;
    else if (shot != inner.npos && shot > 0 && lowered(inner.substr(shot)).ends_with("shot"))
      head.shots = inner.substr(0, shot);
    else if (metric_kind(inner) != nullptr)
      head.metric = inner;
    else if (!inner.empty())
      break;
    label = std::string(trimmed(std::string_view(label).substr(0, open)));
  }
  if (label.ends_with('%')) {
    head.is_percent = true;
    label = std::string(trimmed(std::string_view(label).substr(0, label.size() - 1)));
  }
  head.label = label;
  return head;
}

void say_head(const Head& head, ReportedCell& cell) {
  if (!head.metric.empty() && cell.metric.empty()) set_metric(cell, head.metric);
  if (!head.shots.empty()) cell.shots = head.shots;
  if (head.direction) cell.direction = head.direction;
  if (head.is_percent) cell.is_percent = head.is_percent;
}

namespace {

// Scores of one metric: whether those without a percent sign are percentages.
struct ScaleOfMetric {
  std::size_t unsigned_scores = 0, above_one = 0;
  bool is_stated = false;  // by a column's head
  bool is_percent() const {
    return is_stated || (above_one > 0 && 2 * above_one >= unsigned_scores);
  }
};

bool has_sign(const ReportedCell& cell) { return cell.score.text.find('%') != std::string::npos; }

void to_share(ReportedCell& cell) {
  cell.score.value /= 100;
  cell.score.decimals += 2;
  cell.score.half_unit /= 100;
  if (cell.standard_error) *cell.standard_error /= 100;
}

}  // namespace

Result<void> finish_cells(ReportedTable& table, Percent percent) {
  std::map<std::string, ScaleOfMetric> scales;
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
        if (has_sign(cell)) continue;
        ScaleOfMetric& scale = scales[cell.metric];
        ++scale.unsigned_scores;
        if (size > 1) ++scale.above_one;
        if (cell.is_percent.value_or(false)) scale.is_stated = true;
      }
  for (ReportedRun& run : table.runs) {
    const bool is_nanochat = has_composite(run);
    for (ReportedStage& stage : run.stages)
      for (ReportedCell& cell : stage.cells) {
        if (!is_score(cell)) {
          // A word error rate of "4.3", headed "WER (%)".
          if (cell.is_percent.value_or(false) && !has_sign(cell)) to_share(cell);
          continue;
        }
        if (percent == Percent::kGuessed && scales[cell.metric].is_percent() && !has_sign(cell))
          to_share(cell);
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
