#include "results/compare/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

#include "results/compare/imported_rows.hpp"
#include "results/messages/sentences.hpp"
#include "results/stats/stats.hpp"
#include "results/store/metric_names.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

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
  Sentence gross = {};              // beyond that bound, no noise known
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

Sentence score_sentence(const Score& score) {
  std::string text = fmt::format("{} {}", score.name, plain_signed(score.difference, score.unit));
  if (!score.gross.empty()) return message("headline.beyond", text, score.gross);
  if (score.interval) text += fmt::format(" (95 % {})", interval_text(*score.interval, score.unit));
  return verbatim(std::move(text));
}

Sentence list_of(std::vector<Score> scores) {
  std::stable_sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) {
    return a.p.value_or(1) < b.p.value_or(1);
  });
  std::vector<Sentence> named;
  for (std::size_t i = 0; i < std::min(scores.size(), kNamed); ++i)
    named.push_back(score_sentence(scores[i]));
  Sentence list = joined("join.list", std::move(named));
  if (scores.size() <= kNamed) return list;
  return message("list.and_more", std::move(list), scores.size() - kNamed);
}

// How many, and how large a difference would have been seen.
Sentence visible_of(const std::vector<Score>& scores) {
  double low = std::numeric_limits<double>::infinity(), high = 0;
  std::string unit;
  for (const Score& score : scores) {
    if (!score.visible || (!unit.empty() && score.unit != unit)) continue;
    unit = score.unit;
    low = std::min(low, *score.visible);
    high = std::max(high, *score.visible);
  }
  if (unit.empty()) return message("headline.scores", scores.size());
  const std::string from = rounded_value(low, unit), to = rounded_value(high, unit);
  return from == to ? message("headline.could_see", scores.size(), from)
                    : message("headline.could_see_range", scores.size(), from, to);
}

// Curves of imported trainings.
Sentence curves_line(const Comparison& comparison) {
  std::vector<Sentence> sentences;
  for (const RecordPair& pair : comparison.pairs)
    if (pair.curves) sentences.push_back(curves_sentence(*pair.curves));
  return joined("join.sentences", std::move(sentences));
}

// What the difference of the scores, if there is one, cannot be laid on.
Sentence with_doubt(const Comparison& comparison, Sentence said) {
  std::set<std::string> causes;
  for (const Confounder& c : comparison.confounders)
    if (c.category == "settings" || c.category == "data" || c.category == "code")
      causes.insert(c.field);
  const bool two_models = std::any_of(comparison.confounders.begin(), comparison.confounders.end(),
                                      [](const Confounder& c) { return c.category == "model"; });
  if (two_models) return message("headline.two_models", std::move(said));
  if (causes.size() == 1) return message("headline.one_cause", std::move(said), *causes.begin());
  if (!causes.empty()) return message("headline.several_causes", std::move(said), causes.size());
  if (!comparison.cautions.empty()) return message("headline.asked_otherwise", std::move(said));
  if (!comparison.unknown.empty()) return message("headline.unknown", std::move(said));
  return message("headline.end", std::move(said));
}

Sentence scores_line(const Comparison& comparison) {
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
  std::vector<Sentence> parts;
  if (!worse.empty()) parts.push_back(message("headline.worse", list_of(worse)));
  if (!better.empty())
    parts.push_back(worse.empty() ? message("headline.better", list_of(better))
                                  : message("headline.also_better", list_of(better)));
  if (!open.empty())
    parts.push_back(parts.empty() ? message("headline.none_shown_first", visible_of(open))
                                  : message("headline.none_shown", visible_of(open)));
  if (equal > 0) parts.push_back(message("headline.equal", equal));
  if (partly_equal > 0) parts.push_back(message("headline.partly_equal", partly_equal));
  if (equal_totals > 0) parts.push_back(message("headline.equal_totals", equal_totals));
  if (untested > 0)
    parts.push_back(untested == 1 ? message("headline.untested_one", untested)
                                  : message("headline.untested", untested));
  Sentence said = joined("join.semicolon", std::move(parts));
  if (worse.empty() && better.empty()) return message("headline.end", std::move(said));
  return with_doubt(comparison, std::move(said));
}

}  // namespace

Sentence headline(const Comparison& comparison) {
  return joined("join.sentences", {curves_line(comparison), scores_line(comparison)});
}

}  // namespace nb
