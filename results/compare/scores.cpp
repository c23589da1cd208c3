#include "results/compare/scores.hpp"

#include <algorithm>
#include <span>
#include <tuple>

#include "results/compare/imported_rows.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

bool is_score(const MetricDifference& row, const RecordPair& pair) {
  if (row.clock != Clock::kNone || row.direction == Direction::kNone) return false;
  if (!row.difference || pair.a->record.kind != "eval") return false;
  if (!pair.imported) return true;
  // Parts of a group and second metrics count where they differ beyond chance.
  return family_of(row) == ScoreFamily::kHeadline || row.shown == Shown::kWorse ||
         row.shown == Shown::kBetter;
}

// Every score alike, not only right and wrong.
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

const ItemComparison* items_of(const RecordPair& pair, const MetricDifference& row) {
  const auto items = std::find_if(pair.items.begin(), pair.items.end(), [&](const auto& one) {
    return one.task == row.name || row.name == metric::of_task(one.task, metric::kAccuracy);
  });
  return items == pair.items.end() ? nullptr : &*items;
}

// Before correction: of own scores kWorse and kBetter are not said yet.
ScoreOutcome outcome_of(const MetricDifference& row, const RecordPair& pair,
                        const ItemComparison* items) {
  if (items != nullptr && has_equal_marks(*items))
    return items->only_a > 0 || items->only_b > 0 ? ScoreOutcome::kEqualInCommon
                                                  : ScoreOutcome::kEqual;
  if (pair.imported && row.shown == Shown::kWorse) return ScoreOutcome::kWorse;
  if (pair.imported && row.shown == Shown::kBetter) return ScoreOutcome::kBetter;
  if (items == nullptr && *row.difference == 0) return ScoreOutcome::kEqualTotals;
  return row.p_two_sided ? ScoreOutcome::kNotEstablished : ScoreOutcome::kUntested;
}

// The same metric of the same node, over seeds.
bool is_over_seeds(const Comparison& comparison, const RecordPair& pair,
                   const std::string& metric) {
  const auto node = [](const Record& r) {
    return std::tie(r.kind, r.name, r.trained_on, r.device);
  };
  return std::ranges::any_of(comparison.seeds, [&](const SeedDifference& seed) {
    return seed.test && seed.direction != Direction::kNone &&
           std::ranges::find(seed.metrics, metric) != seed.metrics.end() &&
           node(seed.first_a->record) == node(pair.a->record) &&
           node(seed.first_b->record) == node(pair.b->record);
  });
}

void add_scores(std::vector<Score>& scores, const Comparison& comparison, const RecordPair& pair) {
  for (const MetricDifference& row : pair.metrics) {
    if (!is_score(row, pair)) continue;
    if (!pair.fixed_weights && is_over_seeds(comparison, pair, row.name)) continue;
    const ItemComparison* items = items_of(pair, row);
    if (!pair.imported && items == nullptr) continue;  // follows from scored items
    if (!pair.imported && !row.p_two_sided && *row.difference != 0) continue;
    Score score;
    score.name = row.name;
    score.place = place_of(comparison, pair);
    score.unit = row.unit;
    score.is_share = row.is_share || (!pair.imported && items != nullptr && row.unit == "1");
    score.direction = row.direction;
    score.a = row.a;
    score.b = row.b;
    score.difference = *row.difference;
    score.interval95 = row.interval95;
    score.p = row.p_two_sided;
    score.min_detectable = row.min_detectable;
    score.gross = row.gross;
    score.outcome = outcome_of(row, pair, items);
    scores.push_back(std::move(score));
  }
}

void add_validation(std::vector<Score>& scores, const Comparison& comparison,
                    const RecordPair& pair) {
  if (pair.a->record.kind != "train") return;
  for (const MetricDifference& row : pair.metrics) {
    if (row.name != metric::kValBpb || !row.difference) continue;
    if (is_over_seeds(comparison, pair, row.name)) continue;
    Score score;
    score.name = row.name;
    score.place = " of " + describe(pair.a->record);
    score.unit = row.unit;
    score.direction = row.direction;
    score.a = row.a;
    score.b = row.b;
    score.difference = *row.difference;
    score.outcome = *row.difference == 0 ? ScoreOutcome::kEqualTotals : ScoreOutcome::kOneTraining;
    scores.push_back(std::move(score));
  }
}

Score of_seeds(const SeedDifference& seed) {
  Score score;
  score.name = seed.metrics.front();
  score.place = " of " + seed.group;
  score.unit = seed.unit;
  score.is_share =
      seed.unit == "1" && seed.metrics.front().ends_with(std::string("/") + metric::kAccuracy);
  score.direction = seed.direction;
  score.a = mean(seed.a);
  score.b = mean(seed.b);
  score.difference = seed.test->difference;
  score.interval95 = seed.test->interval95;
  score.p = seed.test->p_two_sided;
  score.min_detectable = seed.min_detectable();
  return score;
}

// Of own scores; those of other harnesses are settled with their families (imported_rows.hpp).
void correct(std::vector<Score>& scores, const std::vector<bool>& is_own) {
  std::vector<Score*> open;
  std::vector<double> p;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (is_own[i] && scores[i].p) {
      open.push_back(&scores[i]);
      p.push_back(*scores[i].p);
    }
  const std::vector<double> corrected = holm(p);
  for (std::size_t i = 0; i < open.size(); ++i)
    if (open[i]->outcome == ScoreOutcome::kNotEstablished && corrected[i] <= kAlpha)
      open[i]->outcome = (open[i]->difference > 0) == (open[i]->direction == Direction::kHigher)
                             ? ScoreOutcome::kBetter
                             : ScoreOutcome::kWorse;
}

bool is_cost(const MetricDifference& row) {
  return (row.clock == Clock::kSim || row.clock == Clock::kDevice) && row.a && row.b &&
         *row.a > 0 && !row.incomparable &&
         (row.name == metric::kStepTime || row.name == metric::kPeakMemory);
}

}  // namespace

Sentence words_of(ScoreOutcome outcome) {
  switch (outcome) {
    case ScoreOutcome::kWorse:
      return message("outcome.worse");
    case ScoreOutcome::kBetter:
      return message("outcome.better");
    case ScoreOutcome::kInDoubt:
      return message("outcome.in_doubt");
    case ScoreOutcome::kNotEstablished:
      return message("outcome.not_established");
    case ScoreOutcome::kOneTraining:
      return message("outcome.one_training");
    case ScoreOutcome::kUntested:
      return message("outcome.untested");
    case ScoreOutcome::kEqual:
      return message("outcome.equal");
    case ScoreOutcome::kEqualInCommon:
      return message("outcome.equal_in_common");
    case ScoreOutcome::kEqualTotals:
      return message("outcome.equal_totals");
  }
  return {};
}

std::vector<Score> scores_of(const Comparison& comparison) {
  std::vector<Score> scores;
  std::vector<bool> is_own;
  for (const RecordPair& pair : comparison.pairs) {
    if (!pair.imported && !pair.fixed_weights) continue;  // retrained: over seeds
    add_scores(scores, comparison, pair);
    is_own.resize(scores.size(), !pair.imported);
  }
  for (const SeedDifference& seed : comparison.seeds)
    if (seed.test && !seed.all_fixed && seed.direction != Direction::kNone)
      scores.push_back(of_seeds(seed));
  is_own.resize(scores.size(), true);
  correct(scores, is_own);
  for (Score& score : scores)
    if (score.outcome == ScoreOutcome::kNotEstablished && score.interval95 &&
        (score.interval95->low > 0 || score.interval95->high < 0))
      score.outcome = ScoreOutcome::kInDoubt;
  // What could not be judged: what one training a side came to.
  const std::size_t judged = scores.size();
  for (const RecordPair& pair : comparison.pairs) {
    if (judged > 0 && (pair.imported || pair.fixed_weights)) continue;
    add_scores(scores, comparison, pair);
    add_validation(scores, comparison, pair);
  }
  for (Score& score : std::span(scores).subspan(judged))
    if (score.outcome == ScoreOutcome::kNotEstablished) score.outcome = ScoreOutcome::kOneTraining;
  return scores;
}

std::vector<Cost> costs_of(const Comparison& comparison) {
  std::vector<Cost> costs;
  for (const RecordPair& pair : comparison.pairs) {
    if (pair.wrote_otherwise) continue;
    Record node = pair.a->record;
    node.seed.reset();
    if (node.device != pair.b->record.device) node.device.clear();
    const std::string place = describe(node);
    for (const MetricDifference& row : pair.metrics) {
      if (!is_cost(row)) continue;
      const bool is_known = std::ranges::any_of(costs, [&](const Cost& cost) {
        return cost.metric == row.name && cost.place == place && cost.a == *row.a &&
               cost.b == *row.b;
      });
      if (!is_known)
        costs.push_back({row.name, place, row.unit, row.clock, row.direction, *row.a, *row.b});
    }
  }
  return costs;
}

}  // namespace nb
