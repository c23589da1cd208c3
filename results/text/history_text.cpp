// A history for people and for other programs.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/base/csv.hpp"
#include "harness/base/json_io.hpp"
#include "harness/base/table.hpp"
#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "results/store/history.hpp"
#include "results/store/listed_run.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

std::string direction_text(const HistoryGroup& group, double change) {
  const int judgement = judgement_of(group, change);
  return judgement == 0 ? "" : judgement > 0 ? "better" : "worse";
}

std::string seeds_text(const HistoryGroup& group) {
  std::string text;
  for (const auto& seed : group.seeds)
    if (seed) text += (text.empty() ? "" : ", ") + std::to_string(*seed);
  if (text.empty()) return "";
  return (group.seeds.size() == 1 ? "seed " : "seeds ") + text;
}

double spread_of(const std::vector<double>& values, double mean) {
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

std::string changed_text(const HistoryRow& row) {
  return row.changed.empty() ? "" : fmt::format("{}", fmt::join(row.changed, " and "));
}

std::string remark_of(const HistoryGroup& group, const HistoryRow& row) {
  std::vector<std::string> parts;
  if (!row.value) parts.push_back(row.reason_if_null);
  if (row.level) {
    const double change = row.level->after - row.level->before;
    const std::string word = direction_text(group, change);
    parts.push_back(fmt::format("new level{}{}: {}", word.empty() ? "" : ", ", word,
                                plain_signed(change, group.unit)));
  }
  if (!row.changed.empty()) parts.push_back(changed_text(row) + " changed");
  return fmt::format("{}", fmt::join(parts, "; "));
}

TextTable table_of(const HistoryGroup& group, std::span<const HistoryRow> rows) {
  const bool many = group.seeds.size() > 1;
  const bool has_intervals =
      std::any_of(rows.begin(), rows.end(), [](const HistoryRow& row) { return row.low; });
  TextTable table{{"run", "when", many ? "mean" : "value"}, {}};
  if (many) table.header.push_back("SD");
  if (has_intervals) table.header.push_back("95 % interval");
  table.header.push_back("");
  for (const HistoryRow& row : rows) {
    auto& cells = table.rows.emplace_back(std::vector<std::string>{
        row.run, short_time(row.when), row.value ? plain_value(*row.value, group.unit) : "—"});
    if (many)
      cells.push_back(row.value ? rounded_value(spread_of(row.by_seed, *row.value), group.unit)
                                : "");
    if (has_intervals)
      cells.push_back(row.low && row.high
                          ? fmt::format("[{}, {}]", plain_value(*row.low, group.unit),
                                        plain_value(*row.high, group.unit))
                          : "");
    cells.push_back(remark_of(group, row));
  }
  return table;
}

// "30 values from 0.3542 to 0.3610", and what is known of their level.
std::string summary_text(const HistoryGroup& group) {
  std::vector<double> values;
  for (const HistoryRow& row : group.rows)
    if (row.value) values.push_back(*row.value);
  if (values.empty()) return "no values\n";
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  const std::string count = count_text(std::ssize(values), "value");
  std::string text = *low == *high
                         ? fmt::format("{}{}\n", count, values.size() > 1 ? ", all equal" : "")
                         : fmt::format("{} from {} to {}\n", count, plain_value(*low, group.unit),
                                       plain_value(*high, group.unit));
  const auto levels = level_sentences(group);
  for (const std::string& sentence : levels) text += visible_line(sentence) + "\n";
  if (levels.empty() && values.size() < kLeastValues)
    text += fmt::format("too few to tell a change of level: it takes {}\n", kLeastValues);
  else if (levels.empty() && *low != *high)
    text += "no change of level\n";
  return text;
}

// Why this group does not continue the one above, where it looks as if it could.
std::string apart_text(const HistoryGroup& before, const HistoryGroup& group) {
  if (title_of(before) != title_of(group)) return "";
  if (before.comparability != group.comparability)
    return "not comparable with the values above: items, prompts, tokenizer or versions differ\n";
  if (before.machine != group.machine)
    return "not comparable with the values above: measured on another machine\n";
  if (before.unit != group.unit) return "in another unit than the values above\n";
  return "";
}

std::string group_text(const HistoryGroup& group, std::size_t most) {
  const std::size_t shown = most == 0 ? group.rows.size() : std::min(most, group.rows.size());
  std::string text = to_text(table_of(group, std::span(group.rows).last(shown)), output_width());
  if (shown < group.rows.size())
    text += fmt::format("the newest {} of {} runs; --limit 0 lists all\n", shown,
                        with_commas(std::ssize(group.rows)));
  return text + summary_text(group);
}

std::string number_or_empty(const std::optional<double>& value) {
  return value ? number_text(*value) : "";
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json seeds_json(const HistoryGroup& group) {
  Json seeds = Json::array();
  for (const auto& seed : group.seeds)
    if (seed) seeds.push_back(*seed);
  return seeds;
}

Json row_json(const HistoryRow& row) {
  Json level;
  if (row.level)
    level = {{"before", row.level->before}, {"after", row.level->after}, {"p", row.level->p}};
  return {{"run", row.run},
          {"when", text_or_null(row.when)},
          {"value", optional_json(row.value)},
          {"reason", text_or_null(row.reason_if_null)},
          {"by_seed", row.by_seed},
          {"low95", optional_json(row.low)},
          {"high95", optional_json(row.high)},
          {"n", row.n > 0 ? Json(row.n) : Json()},
          {"changed", row.changed},
          {"level", std::move(level)}};
}

// What level_sentences() says, as fields.
Json level_changes_json(const HistoryGroup& group) {
  constexpr const char* kWords[] = {"worse", "neither", "better"};
  Json changes = Json::array();
  for (const HistoryRow& row : group.rows) {
    if (!row.level) continue;
    const auto& [index, before, after, p] = *row.level;
    changes.push_back({{"run", row.run},
                       {"when", text_or_null(row.when)},
                       {"before", before},
                       {"after", after},
                       {"difference", after - before},
                       {"judgement", kWords[judgement_of(group, after - before) + 1]},
                       {"p", p},
                       {"changed", row.changed}});
  }
  return changes;
}

}  // namespace

int judgement_of(const HistoryGroup& group, double change) {
  if (group.direction == Direction::kNone || change == 0) return 0;
  return (change > 0) == (group.direction == Direction::kHigher) ? 1 : -1;
}

std::string title_of(const HistoryGroup& group) {
  std::string text = group.kind + " " + group.name;
  if (!group.device.empty()) text += " on " + group.device;
  if (!group.trained_on.empty() && group.trained_on != group.device)
    text += ", trained on " + group.trained_on;
  if (const std::string seeds = seeds_text(group); !seeds.empty()) text += ", " + seeds;
  if (group.clock != name(Clock::kNone)) text += fmt::format(", clock {}", group.clock);
  return text + fmt::format(" ({})", group.sequence);
}

std::vector<std::string> level_sentences(const HistoryGroup& group) {
  std::vector<std::string> sentences;
  for (const HistoryRow& row : group.rows) {
    if (!row.level) continue;
    const auto& [index, before, after, p] = *row.level;
    const std::string word = direction_text(group, after - before);
    sentences.push_back(fmt::format(
        "the level changed at {}: {} → {} ({}{}{}), p {}; {}", row.run,
        plain_value(before, group.unit), plain_value(after, group.unit),
        plain_signed(after - before, group.unit), word.empty() ? "" : ", ", word, p_text(p),
        row.changed.empty() ? "neither settings nor code changed in that run"
                            : changed_text(row) + " changed in that run"));
  }
  return sentences;
}

std::string history_text(const History& history, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < history.groups.size(); ++i) {
    const HistoryGroup& group = history.groups[i];
    const std::string better = group.direction == Direction::kHigher  ? ", higher is better"
                               : group.direction == Direction::kLower ? ", lower is better"
                                                                      : "";
    text += i == 0 ? "" : "\n";
    text +=
        visible_line(fmt::format("{}: {}{}{}", title_of(group), history.metric,
                                 has_plain_unit(group.unit) ? " in " + group.unit : "", better)) +
        "\n";
    if (i > 0) text += apart_text(history.groups[i - 1], group);
    text += group_text(group, most);
  }
  for (const std::string& note : history.notes) text += "! " + visible_line(note) + "\n";
  return text;
}

std::string history_csv(const History& history) {
  std::string text =
      csv_line({"group",      "metric",       "sequence",    "kind",   "name",      "device",
                "trained_on", "seeds",        "clock",       "unit",   "direction", "run",
                "when",       "value",        "low95",       "high95", "n",         "reason",
                "changed",    "level_before", "level_after", "level_p"}) +
      "\n";
  for (std::size_t i = 0; i < history.groups.size(); ++i) {
    const HistoryGroup& group = history.groups[i];
    std::string seeds;
    for (const auto& seed : group.seeds)
      if (seed) seeds += (seeds.empty() ? "" : " ") + std::to_string(*seed);
    for (const HistoryRow& row : group.rows)
      text += csv_line({std::to_string(i + 1),
                        history.metric,
                        group.sequence,
                        group.kind,
                        group.name,
                        group.device,
                        group.trained_on,
                        seeds,
                        group.clock,
                        group.unit,
                        std::string(name(group.direction)),
                        row.run,
                        row.when,
                        number_or_empty(row.value),
                        number_or_empty(row.low),
                        number_or_empty(row.high),
                        row.n > 0 ? std::to_string(row.n) : "",
                        row.reason_if_null,
                        fmt::format("{}", fmt::join(row.changed, " ")),
                        row.level ? number_text(row.level->before) : "",
                        row.level ? number_text(row.level->after) : "",
                        row.level ? number_text(row.level->p) : ""}) +
              "\n";
  }
  return text;
}

Json history_json(const History& history) {
  Json groups = Json::array();
  for (const HistoryGroup& group : history.groups) {
    Json rows = Json::array();
    for (const HistoryRow& row : group.rows) rows.push_back(row_json(row));
    groups.push_back({{"title", title_of(group)},
                      {"sequence", group.sequence},
                      {"kind", group.kind},
                      {"name", group.name},
                      {"device", text_or_null(group.device)},
                      {"trained_on", text_or_null(group.trained_on)},
                      {"seeds", seeds_json(group)},
                      {"clock", group.clock},
                      {"unit", group.unit},
                      {"direction", name(group.direction)},
                      {"machine", text_or_null(group.machine)},
                      {"comparability", group.comparability},
                      {"levels", level_sentences(group)},
                      {"level_changes", level_changes_json(group)},
                      {"rows", std::move(rows)}});
  }
  return {{"schema", kHistorySchema},
          {"metric", history.metric},
          {"groups", std::move(groups)},
          {"notes", history.notes}};
}

}  // namespace nb
