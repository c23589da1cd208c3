#include "results/compare/score_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/base/visible_text.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"
#include "results/text/narrow_text.hpp"

namespace nb {
namespace {

// A share in percentage points without its sign: one decimal, two where one would show 0.0.
std::string points(double share) {
  const double value = std::fabs(share) * 100;
  return fmt::format("{:.{}f}", value, value != 0 && value < 0.095 ? 2 : 1);
}

std::string signed_points(double share) {
  return (share < 0 ? "−" : share > 0 ? "+" : "") + points(share);
}

std::string difference_of(const Score& score) {
  return score.is_share ? signed_points(score.difference) + " pp"
                        : plain_signed(score.difference, score.unit);
}

std::string interval_of(const Score& score) {
  if (!score.interval95) return "";
  const Interval& interval = *score.interval95;
  return score.is_share
             ? fmt::format("[{}, {}]", signed_points(interval.low), signed_points(interval.high))
             : interval_text(interval, score.unit);
}

std::string value_of(const std::optional<double>& value, const Score& score) {
  if (!value) return "—";
  return score.is_share ? fmt::format("{:.1f} %", *value * 100) : plain_value(*value, score.unit);
}

constexpr std::string_view kClocks[] = {"", "simulated", "this computer's clock",
                                        "the device's clock"};

}  // namespace

std::string change_text(const Score& score) {
  const std::string interval = interval_of(score);
  return difference_of(score) + (interval.empty() ? "" : " " + interval);
}

std::string visible_text(const Score& score) {
  return score.is_share ? points(*score.min_detectable) + " pp"
                        : rounded_value(*score.min_detectable, score.unit);
}

std::vector<Score> surest_first(const Comparison& comparison) {
  std::vector<Score> scores = comparison.scores;
  std::ranges::stable_sort(scores, {}, &Score::outcome);
  return scores;
}

ScoreCells cells_of(const Score& score) {
  return {metric::shown_name(score.name) + score.place, value_of(score.a, score),
          value_of(score.b, score), difference_of(score), interval_of(score)};
}

TextTable score_rows(const Comparison& comparison) {
  TextTable table{{"score", "A", "B", "B − A", "95 % interval", "verdict"}, {}};
  for (const Score& score : surest_first(comparison)) {
    const ScoreCells cells = cells_of(score);
    table.rows.push_back({cells.name, cells.a, cells.b, cells.difference, cells.interval,
                          text_of(words_of(score.outcome))});
  }
  return table;
}

std::string score_table(const Comparison& comparison) {
  const TextTable table = score_rows(comparison);
  std::vector<NarrowRow> rows;
  for (std::size_t i = 0; i < std::min(table.rows.size(), kScoreRows); ++i)
    rows.push_back({table.rows[i], {}});
  if (rows.empty()) return {};
  std::string text = narrow_table(table.header, rows);
  if (table.rows.size() > rows.size())
    text += fmt::format("    and {} more, below\n", table.rows.size() - rows.size());
  return text;
}

std::string score_lines(const Comparison& comparison) {
  std::string text;
  for (const auto& row : score_rows(comparison).rows)
    text += visible_line(fmt::format("{}: {} → {}, {}{}, {}", row[0], row[1], row[2], row[3],
                                     row[4].empty() ? "" : " " + row[4], row[5])) +
            "\n";
  return text;
}

std::string cost_table(const Comparison& comparison) {
  std::vector<NarrowRow> rows;
  for (const Cost& cost : comparison.costs)
    rows.push_back({{fmt::format("{} of {}, {}",
                                 cost.metric == metric::kStepTime ? "step time" : "peak memory",
                                 cost.place, kClocks[static_cast<std::size_t>(cost.clock)]),
                     value_text(cost.a, cost.unit), value_text(cost.b, cost.unit),
                     fmt::format("{:.3g} ×", cost.ratio())},
                    {}});
  if (rows.empty()) return {};
  return narrow_table({"cost", "A", "B", "B / A"}, rows);
}

}  // namespace nb
