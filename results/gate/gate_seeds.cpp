// Verdicts on retrained models: paired by seed where both sides have it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "results/gate/gate_judge.hpp"
#include "results/messages/sentences.hpp"
#include "results/text/format.hpp"

namespace nb {
namespace {

// Standard deviations of the seeds by which a mean is better than any change of settings makes it;
// standard errors by which it is better than chance where no setting was changed.
constexpr double kTooGood = 3;
constexpr double kNightPower = 0.80;  // a healthy night passes with this probability
constexpr double kShareAllowance = 0.05;
constexpr double kSqrt2 = 1.4142135623730951;

// Smallest difference that can be red: bpb_floor for losses, 1 pp for shares, 0 for the rest.
double floor_of(const std::string& unit, const GatePolicy& policy) {
  if (unit == "bit/byte" || unit == "nat") return policy.bpb_floor;
  return unit == "1" ? 0.01 : 0;
}

std::size_t fewest(const SeedTest& test) {
  return std::min(test.base.size(), test.candidate.size());
}

Sentence seeds_of(const SeedTest& test) {
  if (test.paired) return message("seeds.paired", test.base.size());
  return message("seeds.against", test.base.size(), test.candidate.size());
}

double gross_limit(const SeedTest& test) { return kGrossDeviations * kSqrt2 * test.noise->sd; }

Sentence means_of(const SeedTest& test) {
  const TaskVerdict& v = test.verdict;
  return message("seeds.means", value_text(*v.a, test.unit), value_text(*v.b, test.unit),
                 signed_text(*v.difference, test.unit), seeds_of(test));
}

// Beyond what seeds explain, with one seed as with many.
bool judge_gross(SeedTest& test, double gain) {
  if (!test.noise || std::fabs(gain) <= gross_limit(test)) return false;
  TaskVerdict& v = test.verdict;
  v.verdict = gain < 0 ? Verdict::kRegressed : Verdict::kSuspicious;
  v.reason = message("seeds.gross", means_of(test), value_text(gross_limit(test), test.unit),
                     fmt::format("{:.0f}", kGrossDeviations), test.noise->source);
  if (gain > 0 && test.is_cost)
    append(v.reason, message("seeds.too_cheap"));
  else if (gain > 0)
    append(v.reason, message("seeds.too_good"));
  return true;
}

void cannot_tell(SeedTest& test, const GatePolicy& policy) {
  TaskVerdict& v = test.verdict;
  v.verdict = Verdict::kInconclusive;
  v.reason = message("seeds.retrained", means_of(test));
  if (test.noise && (test.unit != "1" || gross_limit(test) < 1))  // a share can't move further
    append(v.reason,
           message("seeds.excluded", value_text(gross_limit(test), test.unit), test.noise->source));
  append(v.reason, message("seeds.smaller_need", policy.min_seeds));
}

// A margin that a healthy night of k tests keeps with 80 % probability, from the noise profile's
// spread or the baseline's own: t(.95) + t(1 − .2/k) standard errors.
double margin_of(const SeedTest& test, double df, std::size_t tests, const GatePolicy& policy) {
  const double floor = floor_of(test.unit, policy);
  const bool has_profile = test.noise && test.noise->is_profile;
  if (test.base.size() < 2 && !has_profile) return floor;
  const double share = (1 - kNightPower) / static_cast<double>(std::max<std::size_t>(1, tests));
  const double factor = -student_t_quantile(0.05, df) - student_t_quantile(share, df);
  const double m = static_cast<double>(fewest(test));
  const double sd = has_profile ? test.noise->sd : sample_sd(test.base);
  return std::max(floor, factor * sd * pm::sqrt(2 / m));
}

// Where no seed occurs on both sides, two spreads of a few seeds can be small by chance: the
// difference must be beyond the profile's spread, too. One-sided; 0: no profile, or pairs, whose
// differences it does not measure.
double p_of_profile(const SeedTest& test) {
  if (test.paired || !test.noise || !test.noise->is_profile || !(test.noise->sd > 0)) return 0;
  const auto m = static_cast<double>(test.base.size());
  const auto n = static_cast<double>(test.candidate.size());
  const double error = test.noise->sd * pm::sqrt(1 / m + 1 / n);
  return student_t_cdf(-std::fabs(*test.verdict.difference) / error,
                       std::max(1, test.noise->seeds - 1));
}

// Better than the spread that healthy seeds have, of the policy's profile or the baseline's own.
bool beyond_spread(const SeedTest& test, double gain) {
  if (!test.noise || !(test.noise->sd > 0)) return false;
  const double m = static_cast<double>(fewest(test));
  return gain > kTooGood * test.noise->sd * pm::sqrt(2 / m);
}

void judge_seed(SeedTest& test, const MeanTest& result, std::size_t tests,
                const GatePolicy& policy) {
  TaskVerdict& v = test.verdict;
  const double sign = test.direction == Direction::kHigher ? 1 : -1;
  const double gain = sign * result.difference;  // positive: better
  const double floor = floor_of(test.unit, policy);
  const double df = std::max(1.0, result.df);
  const double margin = margin_of(test, df, tests, policy);
  v.margin = margin;
  if (result.df > 0) v.min_detectable = min_detectable(result.standard_error, result.df);
  v.low90 = sign > 0 ? result.interval90.low : -result.interval90.high;
  if (judge_gross(test, gain)) return;
  const double least_red = test.unit == "1" ? margin / 2 : floor;
  const std::string interval = interval_text(result.interval95, test.unit);
  const std::string p = p_text(*v.p_worse_holm);
  v.reason = p_of_profile(test) > std::min(result.p_below, result.p_above)
                 ? message("seeds.evidence_of_profile", means_of(test), interval, p)
                 : message("seeds.evidence", means_of(test), interval, p);
  const double sd = test.base.size() >= 2 ? sd_upper80(sample_sd(test.base),
                                                       static_cast<double>(test.base.size() - 1))
                                          : 0;
  // Half for each of the two families.
  const double alpha =
      (test.like_rounding ? std::min(policy.alpha, policy.alpha_retrained) : policy.alpha) / 2;
  const bool surely_better = *v.p_better_holm <= alpha;
  const bool enough = fewest(test) >= static_cast<std::size_t>(policy.min_seeds);
  const bool is_lower = gain <= -least_red && gain < 0;
  if (is_lower && *v.p_worse_holm <= alpha) {
    v.verdict = Verdict::kRegressed;
  } else if (is_lower && *v.p_worse_holm <= policy.alpha / 2) {
    v.verdict = Verdict::kInconclusive;
    append(v.reason, message("seeds.worse_or_chance", fmt::format("{}", alpha), 2 * fewest(test)));
  } else if (surely_better && gain > floor && gain > kTooGood * sd && sd > 0) {
    v.verdict = Verdict::kSuspicious;
    append(v.reason, message("seeds.better_than_spread", fmt::format("{:.0f}", kTooGood)));
  } else if (test.unexplained && surely_better && gain > floor && beyond_spread(test, gain)) {
    v.verdict = Verdict::kSuspicious;
    append(v.reason, message("seeds.better_unexplained", fmt::format("{:.0f}", kTooGood),
                             test.noise->source));
  } else if (enough && *v.low90 > -margin) {
    v.verdict = surely_better ? Verdict::kImproved : Verdict::kPass;
    append(v.reason, message("seeds.within", value_text(margin, test.unit)));
  } else {
    v.verdict = Verdict::kInconclusive;
    append(v.reason, message("seeds.not_within", value_text(margin, test.unit)));
    const double m = static_cast<double>(fewest(test));
    const double spread = result.standard_error * pm::sqrt(test.paired ? m : m / 2);
    if (spread > 0 && margin > 0)
      append(v.reason,
             message("seeds.would_find", std::max({policy.min_seeds, static_cast<int>(m) + 1,
                                                   test.paired ? seed_pairs_needed(margin, spread)
                                                               : seeds_needed(margin, spread)})));
    else if (!enough)
      append(v.reason, message("seeds.needed", policy.min_seeds));
  }
}

std::optional<MeanTest> test_of(const SeedTest& test) {
  if (test.paired) {
    NB_CHECK(test.base.size() == test.candidate.size(), "[gate] {} seeds paired with {}",
             test.base.size(), test.candidate.size());
    if (test.base.size() < 2) return std::nullopt;
    return paired_t(test.base, test.candidate);
  }
  if (fewest(test) >= 2) return welch(test.base, test.candidate);
  if (test.base.size() >= 3) return one_against(test.base, test.candidate[0]);
  return std::nullopt;
}

struct Testable {
  SeedTest* test;
  MeanTest result;
  double worse, better;  // one-sided p
};

void judge_family(const std::vector<Testable>& family, std::size_t tests,
                  const GatePolicy& policy) {
  std::vector<double> worse, better;
  for (const Testable& one : family) {
    worse.push_back(one.worse);
    better.push_back(one.better);
  }
  const auto worse_holm = holm(worse), better_holm = holm(better);
  for (std::size_t i = 0; i < family.size(); ++i) {
    family[i].test->verdict.p_worse_holm = worse_holm[i];
    family[i].test->verdict.p_better_holm = better_holm[i];
    judge_seed(*family[i].test, family[i].result, tests, policy);
  }
}

}  // namespace

SeedNoise noise_of_profile(double sd, int seeds) {
  return {sd_upper80(sd, std::max(1, seeds - 1)), message("noise.of_profile", seeds), true, seeds};
}

SeedNoise noise_of_seeds(const std::vector<double>& base, const std::string& unit, std::int64_t n) {
  const double sd = sd_upper80(sample_sd(base), static_cast<double>(base.size() - 1));
  const double chance =
      unit == "1" && n > 0 ? noise_of_share(mean(base), n).sd - kShareAllowance : 0;
  return {std::max(sd, chance), message("noise.of_seeds", base.size())};
}

SeedNoise noise_of_curve(double value, double relative_step_noise) {
  return {std::fabs(value) * relative_step_noise,
          message("noise.of_curve", fmt::format("{:.2g}", 100 * relative_step_noise))};
}

SeedNoise noise_of_share(double share, std::int64_t n) {
  const double size = static_cast<double>(std::max<std::int64_t>(1, n));
  // Agresti and Coull (1998): two more successes and failures, so that 0 and 1 have a spread.
  const double p = (share * size + 2) / (size + 4);
  return {pm::sqrt(std::max(0.0, p * (1 - p)) / (size + 4)) + kShareAllowance,
          message("noise.of_share", n)};
}

void judge_seeds(std::vector<SeedTest>& family, const GatePolicy& policy) {
  std::vector<Testable> trainings, answers;
  for (SeedTest& test : family) {
    NB_CHECK(test.direction != Direction::kNone && !test.base.empty() && !test.candidate.empty(),
             "[gate] seeds of {} cannot be judged", test.verdict.task());
    TaskVerdict& v = test.verdict;
    v.test = "seeds";
    v.a = mean(test.base);
    v.b = mean(test.candidate);
    v.difference = *v.b - *v.a;
    v.uncalibrated =
        !test.noise || !test.noise->is_profile;  // margins of the baseline's own spread
    const auto result = test.one_value ? std::nullopt : test_of(test);
    const bool higher = test.direction == Direction::kHigher;
    if (!result) {
      if (!judge_gross(test, higher ? *v.difference : -*v.difference)) cannot_tell(test, policy);
      continue;
    }
    v.interval95 = result->interval95;
    const double p_profile = p_of_profile(test);
    v.p_worse = std::max(p_profile, higher ? result->p_below : result->p_above);
    const double p_better = std::max(p_profile, higher ? result->p_above : result->p_below);
    (test.is_training ? trainings : answers).push_back({&test, *result, *v.p_worse, p_better});
  }
  const std::size_t tests = trainings.size() + answers.size();
  judge_family(trainings, tests, policy);
  judge_family(answers, tests, policy);
}

}  // namespace nb
