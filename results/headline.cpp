#include "results/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "results/format.hpp"
#include "results/imported_rows.hpp"
#include "results/metric_names.hpp"

namespace nb {
namespace {

constexpr double kAlpha = 0.05;
constexpr std::size_t kNamed = 3;  // scores that are named; the others are counted

struct Score {
  std::string name;
  std::string unit;
  Direction direction = Direction::kHigher;
  double difference = 0;
  std::optional<Interval> interval;
  std::optional<double> p, visible;
  bool equal = false;               // answer by answer
  bool partial = false;             // items of a side have no partner
  bool equal_total = false;         // without items
  std::optional<Shown> shown = {};  // of imported scores: settled with their family
  std::string gross = {};           // beyond that bound, no noise known
  bool better() const { return (difference > 0) == (direction == Direction::kHigher); }
};

bool is_score(const MetricDifference& row, const RecordPair& pair) {
  if (row.clock != Clock::kNone || row.direction == Direction::kNone) return false;
  if (!row.difference || pair.a->record.kind != "eval") return false;
  if (!pair.imported) return row.p_two_sided.has_value() || *row.difference == 0;
  // Parts of a group and second metrics count where they differ beyond chance.
  return family_of(row) == ScoreFamily::kHeadline || row.shown == Shown::kWorse ||
         row.shown == Shown::kBetter;
}

// Every mark alike, not only right and wrong.
bool has_equal_marks(const ItemComparison& items) {
  return items.error.empty() && items.changed == 0 && items.mean_a == items.mean_b &&
         !(items.fractions && items.fractions->standard_error > 0);
}

std::string place_of(const Comparison& comparison, const RecordPair& pair) {
  const auto evaluations =
      std::count_if(comparison.pairs.begin(), comparison.pairs.end(),
                    [](const RecordPair& one) { return one.a->record.kind == "eval"; });
  return evaluations > 1 ? " of " + describe(pair.a->record) : "";
}

std::vector<Score> scores_of(const Comparison& comparison) {
  std::vector<Score> scores;
  for (const RecordPair& pair : comparison.pairs) {
    if (!pair.imported && !pair.fixed_weights) continue;  // retrained: over seeds
    for (const MetricDifference& row : pair.metrics) {
      if (!is_score(row, pair)) continue;
      const auto items = std::find_if(pair.items.begin(), pair.items.end(), [&](const auto& one) {
        return one.task == row.name || row.name == metric::of_task(one.task, metric::kAccuracy);
      });
      const bool has_items = items != pair.items.end();
      if (!pair.imported && !has_items) continue;  // follows from scored items
      Score score{row.name + place_of(comparison, pair),
                  row.unit,
                  row.direction,
                  *row.difference,
                  row.interval95,
                  row.p_two_sided,
                  row.visible,
                  has_items && has_equal_marks(*items),
                  has_items && (items->only_a > 0 || items->only_b > 0)};
      score.equal_total = !has_items && *row.difference == 0;
      if (pair.imported) score.shown = row.shown;
      score.gross = row.gross;
      scores.push_back(std::move(score));
    }
  }
  for (const SeedDifference& seed : comparison.seeds) {
    if (!seed.test || seed.all_fixed || seed.direction == Direction::kNone) continue;
    scores.push_back({seed.metrics.front() + " of " + seed.group, seed.unit, seed.direction,
                      seed.test->difference, seed.test->interval95, seed.test->p_two_sided,
                      seed.visible()});
  }
  return scores;
}

std::string score_text(const Score& score) {
  std::string text = fmt::format("{} {}", score.name, plain_signed(score.difference, score.unit));
  if (!score.gross.empty()) return text + fmt::format(" (beyond {})", score.gross);
  if (score.interval) text += fmt::format(" (95 % {})", interval_text(*score.interval, score.unit));
  return text;
}

std::string list_of(std::vector<Score> scores) {
  std::stable_sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) {
    return a.p.value_or(1) < b.p.value_or(1);
  });
  std::string text;
  for (std::size_t i = 0; i < std::min(scores.size(), kNamed); ++i)
    text += (i == 0 ? "" : ", ") + score_text(scores[i]);
  if (scores.size() > kNamed) text += fmt::format(" and {} more", scores.size() - kNamed);
  return text;
}

std::string plural(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string visible_range(const std::vector<Score>& scores) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  std::string unit;
  for (const Score& score : scores) {
    if (!score.visible || (!unit.empty() && score.unit != unit)) continue;
    unit = score.unit;
    low = std::min(low, *score.visible);
    high = std::max(high, *score.visible);
  }
  if (unit.empty()) return {};
  const std::string from = rounded_value(low, unit), to = rounded_value(high, unit);
  return from == to ? fmt::format(" (could see ≥ {})", from)
                    : fmt::format(" (could see ≥ {} to {})", from, to);
}

// Curves of imported trainings.
std::string curves_line(const Comparison& comparison) {
  std::string text;
  for (const RecordPair& pair : comparison.pairs)
    if (pair.curves)
      if (const std::string one = curves_sentence(*pair.curves); !one.empty())
        text += (text.empty() ? "" : " ") + one;
  return text;
}

std::string scores_line(const Comparison& comparison) {
  const std::vector<Score> scores = scores_of(comparison);
  if (scores.empty()) return {};
  std::vector<double> p;
  for (const Score& score : scores)
    if (score.p && !score.shown) p.push_back(*score.p);
  const std::vector<double> adjusted = holm(p);
  std::vector<Score> worse, better, open;
  std::size_t equal = 0, partly_equal = 0, equal_totals = 0, untested = 0, at = 0;
  for (const Score& score : scores) {
    const double corrected = score.p && !score.shown ? adjusted[at++] : 1;
    const bool differs = score.shown
                             ? *score.shown == Shown::kBetter || *score.shown == Shown::kWorse
                             : score.p && corrected <= kAlpha;
    if (score.equal)
      ++(score.partial ? partly_equal : equal);
    else if (differs)
      (score.better() ? better : worse).push_back(score);
    else if (score.equal_total)
      ++equal_totals;
    else if (!score.p)
      ++untested;
    else
      open.push_back(score);
  }
  std::vector<std::string> parts;
  if (!worse.empty()) parts.push_back("B is worse on " + list_of(worse));
  if (!better.empty())
    parts.push_back((worse.empty() ? "B is better on " : "better on ") + list_of(better));
  if (!open.empty())
    parts.push_back(fmt::format("no difference shown on {}{}", plural(open.size(), "score"),
                                visible_range(open)));
  if (equal > 0) parts.push_back(fmt::format("{} equal answer by answer", plural(equal, "score")));
  if (partly_equal > 0)
    parts.push_back(fmt::format("{} equal answer by answer on the items that both sides have",
                                plural(partly_equal, "score")));
  if (equal_totals > 0)
    parts.push_back(fmt::format("{} with equal totals", plural(equal_totals, "score")));
  if (untested > 0)
    parts.push_back(fmt::format("{} without items or standard errors: nothing can be said of {}",
                                plural(untested, "score"), untested == 1 ? "it" : "them"));
  std::string text = fmt::format("{}.", fmt::join(parts, "; "));
  if (text[0] == 'n') text[0] = 'N';
  std::set<std::string> causes;
  for (const Confounder& c : comparison.confounders)
    if (c.category == "settings" || c.category == "data" || c.category == "code")
      causes.insert(c.field);
  const bool two_models = std::any_of(comparison.confounders.begin(), comparison.confounders.end(),
                                      [](const Confounder& c) { return c.category == "model"; });
  if (worse.empty() && better.empty()) return text;
  if (two_models)
    text += " These are two models: their difference is no device's.";
  else if (!causes.empty())
    text += fmt::format(" This cannot tell whether the device did it: {} besides it.",
                        causes.size() == 1 ? *causes.begin() + " differs"
                                           : fmt::format("{} things differ", causes.size()));
  else if (!comparison.cautions.empty())
    text += " This cannot tell whether the device did it: it was asked or marked otherwise.";
  else if (!comparison.unknown.empty())
    text += " This cannot tell whether the device did it: see \"unknown\" below.";
  return text;
}

}  // namespace

std::string headline(const Comparison& comparison) {
  const std::string curves = curves_line(comparison), scores = scores_line(comparison);
  return curves.empty() || scores.empty() ? curves + scores : curves + " " + scores;
}

}  // namespace nb
