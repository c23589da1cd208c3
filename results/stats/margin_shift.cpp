#include "results/stats/margin_shift.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "results/stats/stats_walked.hpp"

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

// value(margin) of each, walked.
template <class Value>
WalkedValues walked(const Spool<MarginPair>& margins, Value value) {
  return {margins.size(), [&margins, value](const TakeValues& take) {
            std::vector<double> some;
            margins.for_each_block([&](std::span<const MarginPair> block) {
              some.clear();
              for (const MarginPair& margin : block) some.push_back(value(margin));
              take(some);
            });
          }};
}

double size_of(const MarginPair& margin) {
  return std::max(std::fabs(margin.a), std::fabs(margin.b));
}

// How many answers flip where margins move as they did, up to `limit`, each into either direction:
// half of the share of moves that reach from a margin to zero, summed over the margins.
double flips_of_moves(const Spool<MarginPair>& margins, double limit) {
  constexpr std::size_t kBins = 4096;
  std::vector<double> reach(kBins + 1);  // moves in this bin, then in this one or a higher one
  const auto bin = [&](double size) { return static_cast<std::size_t>(size / limit * kBins); };
  margins.for_each([&](const MarginPair& margin) {
    const double move = std::fabs(margin.b - margin.a);
    if (move > 0 && move <= limit) ++reach[bin(move)];
  });
  for (std::size_t i = kBins; i-- > 0;) reach[i] += reach[i + 1];
  double sum = 0;
  margins.for_each([&](const MarginPair& margin) {
    if (std::fabs(margin.a) <= limit) sum += reach[bin(std::fabs(margin.a))];
  });
  return sum / (2 * static_cast<double>(margins.size()));
}

}  // namespace

void Margins::name_flip(NamedFlip flip) {
  const auto at = std::upper_bound(
      largest_.begin(), largest_.end(), flip,
      [](const NamedFlip& one, const NamedFlip& other) { return one.size > other.size; });
  largest_.insert(at, std::move(flip));
  if (largest_.size() > kNamedFlips) largest_.pop_back();
}

void Margins::add_flip(MarginPair margin, const std::string& item) {
  flips_.push_back(margin);
  name_flip({size_of(margin), item});
}

void Margins::append(const Margins& more) {
  noise_ = std::max(noise_, more.noise_);
  logit_step_ = std::max(logit_step_, more.logit_step_);
  more.pairs_.for_each([&](const MarginPair& margin) { pairs_.push_back(margin); });
  more.flips_.for_each([&](const MarginPair& margin) { flips_.push_back(margin); });
  for (const NamedFlip& flip : more.largest_) name_flip(flip);
}

MarginShift margin_shift(const Margins& margins, std::int64_t flips, bool has_choices) {
  const auto change = [](const MarginPair& margin) { return margin.b - margin.a; };
  const auto distance_from = [&](double centre) {
    return walked(margins.pairs(),
                  [=](const MarginPair& margin) { return std::fabs(change(margin) - centre); });
  };
  const WalkedValues changes = walked(margins.pairs(), change);
  MarginShift shift;
  shift.bias_floor = std::max(kBiasFloor, margins.noise());
  shift.rounding_limit = std::max({kRoundingLimit, 2 * margins.noise(), 2 * margins.logit_step()});
  shift.bias = paired_t(changes);
  shift.typical = median(distance_from(0));
  shift.flips = flips;
  if (!has_choices) return shift;
  shift.scale = kMadToSd * median(distance_from(median(changes)));
  shift.hard_limit = std::max(shift.rounding_limit, kHardDeviations * shift.scale);
  if (shift.scale > margins.logit_step())
    margins.pairs().for_each([&](const MarginPair& margin) {
      shift.expected_flips += pm::normal_cdf(-std::fabs(margin.a) / shift.scale);
    });
  else
    shift.expected_flips = flips_of_moves(margins.pairs(), shift.hard_limit);
  margins.flips().for_each([&](const MarginPair& margin) {
    shift.hard_flips += size_of(margin) > shift.hard_limit ? 1 : 0;
  });
  for (const auto& [size, item] : margins.largest())
    if (size > shift.hard_limit) shift.hardest.push_back(item);
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

ChoiceAgreement choice_agreement(const Spool<double>& divergences, std::int64_t same_top) {
  ChoiceAgreement result;
  result.items = static_cast<std::int64_t>(divergences.size());
  result.same_top = same_top;
  if (divergences.empty()) return result;
  const WalkedValues values{divergences.size(),
                            [&](const TakeValues& take) { divergences.for_each_block(take); }};
  result.mean_divergence = mean(values);
  if (divergences.size() >= 2)
    result.divergence_error = sample_sd(values) / pm::sqrt(static_cast<double>(divergences.size()));
  result.p999_divergence = quantile(values, 0.999);
  return result;
}

}  // namespace nb
