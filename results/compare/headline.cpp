#include "results/compare/headline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <vector>

#include "results/compare/predicted_run.hpp"
#include "results/compare/score_table.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

constexpr std::size_t kNamedScores = 3;  // scores that are named; the others are counted

Sentence score_sentence(const Score& score) {
  std::string text =
      fmt::format("{}{} {}", metric::shown_name(score.name), score.place, change_text(score));
  return score.gross.empty() ? verbatim(std::move(text))
                             : message("headline.beyond", text, score.gross);
}

Sentence list_of(std::vector<Score> scores) {
  std::stable_sort(scores.begin(), scores.end(), [](const Score& a, const Score& b) {
    return a.p.value_or(1) < b.p.value_or(1);
  });
  std::vector<Sentence> named;
  for (std::size_t i = 0; i < std::min(scores.size(), kNamedScores); ++i)
    named.push_back(score_sentence(scores[i]));
  Sentence list = joined("join.list", std::move(named));
  if (scores.size() <= kNamedScores) return list;
  return message("list.and_more", std::move(list), scores.size() - kNamedScores);
}

// "a drop of 0.9 pp would have shown": of the scores that are named.
Sentence min_detectable_of(const std::vector<Score>& scores) {
  const Score *least = nullptr, *most = nullptr;
  for (const Score& score : scores) {
    if (!score.min_detectable || (least != nullptr && score.unit != least->unit)) continue;
    if (least == nullptr || *score.min_detectable < *least->min_detectable) least = &score;
    if (most == nullptr || *score.min_detectable > *most->min_detectable) most = &score;
  }
  if (least == nullptr) return {};
  const std::string from = visible_text(*least), to = visible_text(*most);
  // A loss that drops is better.
  if (!std::ranges::all_of(scores,
                           [](const Score& s) { return s.direction == Direction::kHigher; }))
    return from == to ? message("headline.change_would_show", from)
                      : message("headline.change_would_show_range", from, to);
  return from == to ? message("headline.would_show", from)
                    : message("headline.would_show_range", from, to);
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
  const auto of = [&](ScoreOutcome outcome) {
    std::vector<Score> found;
    std::ranges::copy_if(comparison.scores, std::back_inserter(found),
                         [&](const Score& score) { return score.outcome == outcome; });
    return found;
  };
  const auto worse = of(ScoreOutcome::kWorse), better = of(ScoreOutcome::kBetter),
             open = of(ScoreOutcome::kNotEstablished), one = of(ScoreOutcome::kOneTraining);
  std::vector<Sentence> parts;
  if (!worse.empty()) parts.push_back(message("headline.worse", list_of(worse)));
  if (!better.empty())
    parts.push_back(worse.empty() ? message("headline.better", list_of(better))
                                  : message("headline.also_better", list_of(better)));
  const auto doubtful = of(ScoreOutcome::kInDoubt);
  if (!doubtful.empty()) {
    const std::size_t n = comparison.scores.size();
    parts.push_back(parts.empty() ? message("headline.in_doubt_first", n, list_of(doubtful))
                                  : message("headline.in_doubt", n, list_of(doubtful)));
  }
  if (!open.empty()) {
    parts.push_back(parts.empty() ? message("headline.none_shown_first", list_of(open))
                                  : message("headline.none_shown", list_of(open)));
    if (Sentence min_detectable = min_detectable_of(open); !min_detectable.empty())
      parts.push_back(std::move(min_detectable));
  }
  if (!one.empty())
    parts.push_back(parts.empty() ? message("headline.one_training_first", list_of(one))
                                  : message("headline.one_training", list_of(one)));
  if (const std::size_t n = of(ScoreOutcome::kEqual).size(); n > 0)
    parts.push_back(message("headline.equal", n));
  if (const std::size_t n = of(ScoreOutcome::kEqualInCommon).size(); n > 0)
    parts.push_back(message("headline.partly_equal", n));
  if (const std::size_t n = of(ScoreOutcome::kEqualTotals).size(); n > 0)
    parts.push_back(message("headline.equal_totals", n));
  if (const std::size_t n = of(ScoreOutcome::kUntested).size(); n > 0)
    parts.push_back(n == 1 ? message("headline.untested_one", n) : message("headline.untested", n));
  if (parts.empty()) return {};
  Sentence said = joined("join.semicolon", std::move(parts));
  if (worse.empty() && better.empty()) return message("headline.end", std::move(said));
  return with_doubt(comparison, std::move(said));
}

}  // namespace

Sentence headline(const Comparison& comparison) {
  Sentence curves = curves_line(comparison), scores = scores_line(comparison);
  if (curves.empty() && scores.empty()) return predicted_sentence(comparison);
  return joined("join.sentences", {std::move(curves), std::move(scores)});
}

}  // namespace nb
