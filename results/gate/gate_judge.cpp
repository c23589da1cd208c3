#include "results/gate/gate_judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "harness/base/table.hpp"
#include "results/messages/sentences.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

constexpr double kZOneSided = 2.486474860525;  // z(.95) + z(.80): non-inferiority with 80 % power
constexpr int kMinFlips = 6;                   // below that a one-sided mid-p cannot reach .01

// What would settle it, for the sentence of a "can't tell".
Sentence items_wanted(const PairedCounts& counts, double margin) {
  const double psi = counts.discordance(), delta = counts.difference();
  const std::int64_t n = counts.n();
  if (counts.only_a + counts.only_b < kMinFlips)
    return message("gate.few_flips", counts.only_a + counts.only_b, n, kMinFlips);
  // Show that it is within the margin when it looks so, else that it is worse.
  const double gap = delta > -margin ? margin + delta : -delta;
  const double wanted = kZOneSided * kZOneSided * psi / (gap * gap);
  const double least = static_cast<double>(n) + 1;
  if (!(wanted < 1e9)) return message("gate.on_the_margin");
  return message("gate.items_wanted", fmt::format("{:.0f}", std::ceil(std::max(wanted, least))), n);
}

double margin_of(const ItemTest& test, const GatePolicy& policy) {
  if (const auto at = policy.margins.find(test.task); at != policy.margins.end()) return at->second;
  return accuracy_margin(test.counts.n(), policy.discordance_of(test.node, test.task).value_or(0));
}

Sentence item_evidence(const TaskVerdict& v) {
  return message("gate.items", v.counts->only_a, v.counts->n(), v.counts->only_b,
                 fmt::format("{:+.2f}", 100 * *v.difference),
                 fmt::format("{:.2f}", 100 * *v.margin), p_text(*v.p_worse_holm));
}

void judge_item(ItemTest& test, const GatePolicy& policy) {
  TaskVerdict& v = test.verdict;
  const double delta = *v.difference, margin = *v.margin;
  const bool surely_worse = *v.p_worse_holm <= policy.alpha;
  const bool surely_better = *v.p_better_holm <= policy.alpha;
  const Sentence evidence = item_evidence(v);
  if (surely_worse && delta <= -margin / 2) {
    v.verdict = Verdict::kRegressed;
    v.reason = evidence;
  } else if (*v.low90 > -margin) {
    v.verdict = surely_better ? Verdict::kImproved : Verdict::kPass;
    v.reason = surely_worse ? message("gate.worse_within", evidence) : evidence;
  } else {
    v.verdict = Verdict::kInconclusive;
    v.reason = joined("join.semicolon", {evidence, items_wanted(test.counts, margin)});
  }
}

}  // namespace

void judge_items(std::vector<ItemTest>& family, const GatePolicy& policy) {
  std::vector<double> worse, better;
  for (ItemTest& test : family) {
    TaskVerdict& v = test.verdict;
    const auto [lost, won] = std::pair(test.counts.only_a, test.counts.only_b);
    v.test = "items";
    v.counts = test.counts;
    v.difference = test.counts.difference();
    v.interval95 = newcombe_paired(test.counts);
    v.low90 = newcombe_paired(test.counts, kZ90).low;
    v.margin = margin_of(test, policy);
    v.min_detectable = paired_min_detectable(test.counts);
    v.uncalibrated = !policy.discordance_of(test.node, test.task);
    v.p_worse = policy.exact_test ? exact_p_worse(lost, won) : mid_p_worse(lost, won);
    worse.push_back(*v.p_worse);
    better.push_back(policy.exact_test ? exact_p_worse(won, lost) : mid_p_worse(won, lost));
  }
  const auto worse_holm = holm(worse), better_holm = holm(better);
  for (std::size_t i = 0; i < family.size(); ++i) {
    family[i].verdict.p_worse_holm = worse_holm[i];
    family[i].verdict.p_better_holm = better_holm[i];
    judge_item(family[i], policy);
  }
}

void judge_exact(TaskVerdict& verdict, double base, double candidate, Direction direction,
                 const std::string& unit) {
  verdict.test = "exact";
  verdict.a = base;
  verdict.b = candidate;
  verdict.difference = candidate - base;
  verdict.margin = 0;
  if (base == candidate) {
    verdict.verdict = Verdict::kPass;
    verdict.reason = message("gate.equal");
    return;
  }
  // All digits: a difference of 1 ns must show.
  const Sentence change = message("gate.simulated", number_text(base), number_text(candidate), unit,
                                  signed_text(candidate - base, unit));
  if (direction == Direction::kNone) {
    verdict.verdict = Verdict::kInconclusive;
    verdict.reason = message("gate.simulated_neither", change);
    return;
  }
  const bool better = (candidate > base) == (direction == Direction::kHigher);
  verdict.verdict = better ? Verdict::kImproved : Verdict::kRegressed;
  verdict.reason = change;
}

}  // namespace nb
