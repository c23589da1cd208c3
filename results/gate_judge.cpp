#include "results/gate_judge.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "harness/base/table.hpp"
#include "results/format.hpp"

namespace nb {
namespace {

constexpr double kZOneSided = 2.486474860525;  // z(.95) + z(.80): non-inferiority with 80 % power
constexpr int kFewestFlips = 6;  // statistics.md §4: below that an exact test cannot reach .01

// What would settle it, for the sentence of a "can't tell".
std::string items_wanted(const PairedCounts& counts, double margin) {
  const double psi = counts.discordance(), delta = counts.difference();
  const std::int64_t n = counts.n();
  if (counts.only_a + counts.only_b < kFewestFlips)
    return fmt::format(
        "only {} of {} answers differ; at least {} flips in one direction are needed",
        counts.only_a + counts.only_b, n, kFewestFlips);
  // Show that it is within the margin when it looks so, else that it is worse.
  const double gap = delta > -margin ? margin + delta : -delta;
  const double wanted = kZOneSided * kZOneSided * psi / (gap * gap);
  const double least = static_cast<double>(n) + 1;
  if (!(wanted < 1e9)) return "the difference lies on the margin; no number of items settles it";
  return fmt::format("about {:.0f} items would settle it with 80 % power, there are {}",
                     std::ceil(std::max(wanted, least)), n);
}

double margin_of(const ItemTest& test, const GatePolicy& policy) {
  if (const auto at = policy.margins.find(test.task); at != policy.margins.end()) return at->second;
  const auto card = policy.card_discordance.find(test.task);
  return accuracy_margin(test.counts.n(), card == policy.card_discordance.end() ? 0 : card->second);
}

std::string item_evidence(const TaskVerdict& v) {
  return fmt::format(
      "{} of {} answers lost, {} won; {} (margin {:.2f} pp, one-sided p {} after Holm)",
      v.counts->only_a, v.counts->n(), v.counts->only_b,
      fmt::format("{:+.2f} pp", 100 * *v.difference), 100 * *v.margin, p_text(*v.p_worse_holm));
}

void judge_item(ItemTest& test, const GatePolicy& policy) {
  TaskVerdict& v = test.verdict;
  const double delta = *v.difference, margin = *v.margin;
  const bool surely_worse = *v.p_worse_holm <= policy.alpha;
  const bool surely_better = *v.p_better_holm <= policy.alpha;
  const std::string evidence = item_evidence(v);
  if (surely_worse && delta <= -margin / 2) {
    v.verdict = Verdict::kRegressed;
    v.reason = evidence;
  } else if (*v.low90 > -margin) {
    v.verdict = surely_better ? Verdict::kImproved : Verdict::kPass;
    v.reason = surely_worse ? "worse, within the margin: " + evidence : evidence;
    if (surely_better) v.reason += "; new baseline?";
  } else {
    v.verdict = Verdict::kInconclusive;
    v.reason = evidence + "; " + items_wanted(test.counts, margin);
  }
}

// Smallest difference that can be red: bpb_floor for losses, 1 pp for shares, 0 for the rest (§7,
// §11).
double floor_of(const std::string& unit, const GatePolicy& policy) {
  if (unit == "bit/byte" || unit == "nat") return policy.bpb_floor;
  return unit == "1" ? 0.01 : 0;
}

void cannot_tell(SeedTest& test, const GatePolicy& policy) {
  TaskVerdict& v = test.verdict;
  const std::size_t fewest = std::min(test.base.size(), test.candidate.size());
  v.verdict = Verdict::kInconclusive;
  v.reason =
      fmt::format("retrained, {} seed{} against {}; needs at least {} a side", test.base.size(),
                  test.base.size() == 1 ? "" : "s", test.candidate.size(), policy.min_seeds);
  if (fewest < 2) return;
  const double sd = std::max(sample_sd(test.base), sample_sd(test.candidate));
  const double floor = floor_of(test.unit, policy);
  if (sd > 0 && floor > 0)
    v.reason += fmt::format(", {} to find {} with 80 % power (SD {})",
                            std::max(policy.min_seeds, seeds_needed(floor, sd)),
                            value_text(floor, test.unit), value_text(sd, test.unit));
}

void judge_seed(SeedTest& test, const WelchTest& welch_test, const GatePolicy& policy) {
  TaskVerdict& v = test.verdict;
  const double sign = test.direction == Direction::kHigher ? 1 : -1;
  const double gain = sign * welch_test.difference;  // positive: better
  const double sd = sample_sd(test.base);
  const double floor = floor_of(test.unit, policy);
  const double m = static_cast<double>(std::min(test.base.size(), test.candidate.size()));
  const double margin = std::max(floor, 2 * sd * pm::sqrt(2 / m));
  v.margin = margin;
  v.mde80 = seeds_factor(static_cast<int>(m)) * sd;
  v.low90 = sign > 0 ? welch_test.interval90.low : -welch_test.interval90.high;
  const double least_red = test.unit == "1" ? margin / 2 : floor;
  const std::string evidence =
      fmt::format("mean of {} seeds {} → {} of {} ({}; 95 % {}; one-sided p {} after Holm)",
                  test.base.size(), value_text(*v.a, test.unit), value_text(*v.b, test.unit),
                  test.candidate.size(), signed_text(welch_test.difference, test.unit),
                  interval_text(welch_test.interval95, test.unit), p_text(*v.p_worse_holm));
  v.reason = evidence;
  if (*v.p_worse_holm <= policy.alpha && gain <= -least_red && gain < 0) {
    v.verdict = Verdict::kRegressed;
  } else if (gain > 3 * sd && gain > floor) {
    v.verdict = Verdict::kSuspicious;
    v.reason += fmt::format(
        "; better than {} seeds allow (> 3 SD of {}): a leak, another split or a changed metric?",
        test.base.size(), value_text(sd, test.unit));
  } else if (*v.low90 > -margin) {
    v.verdict = *v.p_better_holm <= policy.alpha ? Verdict::kImproved : Verdict::kPass;
  } else {
    v.verdict = Verdict::kInconclusive;
    v.reason += fmt::format("; about {} seeds a side would find the margin of {} with 80 % power",
                            std::max(static_cast<int>(m) + 1, seeds_needed(margin, sd)),
                            value_text(margin, test.unit));
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
    v.mde80 = paired_mde80(test.counts.discordance(), test.counts.n());
    v.uncalibrated = !policy.card_discordance.contains(test.task);
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

void judge_seeds(std::vector<SeedTest>& family, const GatePolicy& policy) {
  std::vector<double> worse, better;
  std::vector<std::pair<SeedTest*, WelchTest>> testable;
  for (SeedTest& test : family) {
    NB_CHECK(test.direction != Direction::kNone && !test.base.empty() && !test.candidate.empty(),
             "[gate] seeds of {} cannot be judged", test.verdict.task);
    TaskVerdict& v = test.verdict;
    v.test = "seeds";
    v.a = mean(test.base);
    v.b = mean(test.candidate);
    v.difference = *v.b - *v.a;
    v.uncalibrated = true;  // a noise card of seeds is the baseline's own spread here
    const std::size_t fewest = std::min(test.base.size(), test.candidate.size());
    if (fewest < static_cast<std::size_t>(std::max(2, policy.min_seeds))) {
      cannot_tell(test, policy);
      continue;
    }
    const WelchTest result = welch(test.base, test.candidate);
    v.interval95 = result.interval95;
    const bool higher = test.direction == Direction::kHigher;
    v.p_worse = higher ? result.p_below : result.p_above;
    worse.push_back(*v.p_worse);
    better.push_back(higher ? result.p_above : result.p_below);
    testable.emplace_back(&test, result);
  }
  const auto worse_holm = holm(worse), better_holm = holm(better);
  for (std::size_t i = 0; i < testable.size(); ++i) {
    testable[i].first->verdict.p_worse_holm = worse_holm[i];
    testable[i].first->verdict.p_better_holm = better_holm[i];
    judge_seed(*testable[i].first, testable[i].second, policy);
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
    verdict.reason = "equal";
    return;
  }
  // All digits: a difference of 1 ns must show.
  const std::string change =
      fmt::format("{} → {} {} ({}; simulated, tolerance 0)", number_text(base),
                  number_text(candidate), unit, signed_text(candidate - base, unit));
  if (direction == Direction::kNone) {
    verdict.verdict = Verdict::kInconclusive;
    verdict.reason =
        change + ", and neither way is better; accept it as a new baseline or explain it";
    return;
  }
  const bool better = (candidate > base) == (direction == Direction::kHigher);
  verdict.verdict = better ? Verdict::kImproved : Verdict::kRegressed;
  verdict.reason = change;
}

}  // namespace nb
