#include "results/margin_shift.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

constexpr double kMadToSd = 1.4826;  // of normal noise
constexpr double kHardDeviations = 4;

double log_sum(std::span<const float> values) {
  const double top = *std::max_element(values.begin(), values.end());
  double sum = 0;
  for (const float value : values) sum += pm::exp(value - top);
  return top + pm::log(sum);
}

MeanTest bias_of(const std::vector<MarginPair>& pairs) {
  std::vector<double> before, after;
  before.reserve(pairs.size());
  after.reserve(pairs.size());
  for (const MarginPair& margin : pairs) {
    before.push_back(margin.a);
    after.push_back(margin.b);
  }
  return paired_t(before, after);
}

}  // namespace

MarginShift margin_shift(const Margins& margins, std::int64_t flips, bool has_choices) {
  MarginShift shift;
  shift.bias = bias_of(margins.pairs);
  std::vector<double> deltas;
  deltas.reserve(margins.pairs.size());
  for (const MarginPair& margin : margins.pairs) deltas.push_back(std::fabs(margin.b - margin.a));
  shift.typical = median(deltas);
  shift.flips = flips;
  if (!has_choices) return shift;
  for (std::size_t i = 0; i < deltas.size(); ++i)
    deltas[i] = margins.pairs[i].b - margins.pairs[i].a;
  const double centre = median(deltas);
  for (double& delta : deltas) delta = std::fabs(delta - centre);
  shift.scale = kMadToSd * median(deltas);
  shift.hard_limit = std::max(kRoundingLimit, kHardDeviations * shift.scale);
  if (shift.scale > 0)
    for (const MarginPair& margin : margins.pairs)
      shift.expected_flips += pm::normal_cdf(-std::fabs(margin.a) / shift.scale);
  for (const auto& [margin, is_answer, item] : margins.flipped)
    if (is_answer && std::max(std::fabs(margin.a), std::fabs(margin.b)) > shift.hard_limit)
      shift.hard_flips.push_back(item);
  shift.p_excess = poisson_at_least(flips, shift.expected_flips);
  return shift;
}

double choice_divergence(std::span<const float> a, std::span<const float> b) {
  NB_CHECK(a.size() == b.size() && a.size() >= 2, "[choices] {} and {} log-probabilities", a.size(),
           b.size());
  const double sum_a = log_sum(a), sum_b = log_sum(b);
  double divergence = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double log_p = a[i] - sum_a;
    divergence += pm::exp(log_p) * (log_p - (b[i] - sum_b));
  }
  return std::max(0.0, divergence);
}

ChoiceAgreement choice_agreement(std::vector<double> divergences, std::int64_t same_top) {
  ChoiceAgreement result;
  result.items = std::ssize(divergences);
  result.same_top = same_top;
  if (divergences.empty()) return result;
  result.mean_divergence = mean(divergences);
  if (divergences.size() >= 2)
    result.divergence_error =
        sample_sd(divergences) / pm::sqrt(static_cast<double>(divergences.size()));
  std::sort(divergences.begin(), divergences.end());
  result.p999_divergence = sorted_quantile(divergences, 0.999);
  return result;
}

}  // namespace nb
