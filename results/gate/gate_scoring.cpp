#include "results/gate/gate_scoring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "results/messages/sentences.hpp"
#include "results/stats/margin_shift.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

constexpr double kRoundingAlpha = 0.01;
constexpr std::size_t kMinMargins = 10;
constexpr std::int64_t kMinTexts = 10;
constexpr std::size_t kNamedItems = 3;

MarginShift shift_of(const ScoringTest& test) {
  if (test.margins.size() < kMinMargins) return {};
  return margin_shift(test.margins, test.counts.only_a + test.counts.only_b, test.has_choices);
}

PairedCounts sum_of(const std::vector<ScoringTest>& family) {
  PairedCounts all;
  for (const ScoringTest& test : family) {
    all.both += test.counts.both;
    all.only_a += test.counts.only_a;
    all.only_b += test.counts.only_b;
    all.neither += test.counts.neither;
  }
  return all;
}

Sentence flips_of(const PairedCounts& counts) {
  return message("gate.flips", counts.only_a, counts.n(), counts.only_b);
}

// Evidence found, in the order of the header.
std::vector<Sentence> evidence_of(const ScoringTest& test, const MarginShift& shift, double p_bias,
                                  double p_excess, double p_flips) {
  std::vector<Sentence> evidence;
  if (std::fabs(shift.bias.difference) > shift.bias_floor && p_bias < kRoundingAlpha)
    evidence.push_back(message("gate.margins_moved", fmt::format("{:+.3g}", shift.bias.difference),
                               p_text(p_bias)));
  if (shift.typical > shift.rounding_limit)
    evidence.push_back(message("gate.margins_half", fmt::format("{:.3g}", shift.typical)));
  if (p_flips < kRoundingAlpha) evidence.push_back(message("gate.one_direction", p_text(p_flips)));
  if (p_excess < kRoundingAlpha)
    evidence.push_back(
        message("gate.more_flips", fmt::format("{:.1f}", shift.expected_flips), p_text(p_excess)));
  if (shift.hard_flips > 0) {
    const std::size_t named = std::min(shift.hardest.size(), kNamedItems);
    evidence.push_back(
        message("gate.hard_flips", shift.hard_flips,
                fmt::format("{}{}", fmt::join(std::span(shift.hardest).first(named), ", "),
                            shift.hard_flips > std::int64_t{kNamedItems} ? ", …" : "")));
  }
  if (test.texts >= kMinTexts && 2 * test.early_texts > test.texts)
    evidence.push_back(message("gate.early_texts", test.early_texts, test.texts, kEarlyBytes));
  return evidence;
}

// Rounding moves near ties alone. A text of hundreds of tokens meets some, so that most texts may
// differ by it; but nothing here shows that it did.
Sentence like_rounding(const ScoringTest& test) {
  if (2 * test.changed_texts <= test.texts) return message("gate.as_rounding");
  return message("gate.marks_as_rounding", test.changed_texts, test.texts);
}

}  // namespace

void judge_scoring(std::vector<ScoringTest>& family, const GatePolicy& policy) {
  if (family.empty()) return;
  if (family.size() > 1) {
    ScoringTest all;
    all.verdict.where = "all tasks together";
    all.counts = sum_of(family);
    family.push_back(std::move(all));
  }
  std::vector<MarginShift> shifts;
  std::vector<double> bias, excess, flips, worse;
  for (const ScoringTest& test : family) {
    const auto [lost, won] = std::pair(test.counts.only_a, test.counts.only_b);
    shifts.push_back(shift_of(test));
    bias.push_back(shifts.back().bias.p_two_sided);
    excess.push_back(shifts.back().p_excess);
    flips.push_back(mid_p_two_sided(lost, won));
    worse.push_back(mid_p_worse(lost, won));
  }
  const auto bias_holm = holm(bias), excess_holm = holm(excess), flips_holm = holm(flips),
             worse_holm = holm(worse);
  for (std::size_t i = 0; i < family.size(); ++i) {
    TaskVerdict& v = family[i].verdict;
    v.test = "scoring";
    v.counts = family[i].counts;
    v.difference = family[i].counts.difference();
    v.interval95 = newcombe_paired(family[i].counts);
    v.p_worse = worse[i];
    v.p_worse_holm = worse_holm[i];
    v.min_detectable = paired_min_detectable(family[i].counts);
    const auto evidence =
        evidence_of(family[i], shifts[i], bias_holm[i], excess_holm[i], flips_holm[i]);
    v.reason = message("gate.same_weights", flips_of(family[i].counts));
    if (evidence.empty()) {
      v.verdict = Verdict::kPass;
      append(v.reason, like_rounding(family[i]));
      continue;
    }
    v.verdict = worse_holm[i] <= policy.alpha ? Verdict::kRegressed : Verdict::kSuspicious;
    append(v.reason, message("gate.not_rounding", joined("join.semicolon", evidence)));
  }
}

}  // namespace nb
