// The same items on two sides: McNemar, intervals, power.
#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "results/stats/stats.hpp"

namespace nb {
namespace {

constexpr double kLn2 = 0.693147180559945309417;
constexpr double kMinFlips = 6;  // exact two-sided p of 6–0 is .031, of 5–0 .0625

// ln P(X = j), X ~ Binomial(trials, ½).
double log_half_binomial(std::int64_t trials, std::int64_t j) {
  const auto d = [](std::int64_t v) { return static_cast<double>(v); };
  return pm::lgamma(d(trials) + 1) - pm::lgamma(d(j) + 1) - pm::lgamma(d(trials - j) + 1) -
         d(trials) * kLn2;
}

// Σ_{j > from} P(X = j) + weight · P(X = from). Neighbouring terms have an exact ratio.
double half_binomial_tail(std::int64_t trials, std::int64_t from, double weight) {
  if (2 * from < trials) return 1 - half_binomial_tail(trials, trials - from, 1 - weight);
  if (trials <=
      1000) {  // 2^-trials is a normal double: from the far end inwards, exact for small tables
    double sum = 0;
    double term = std::ldexp(1.0, -static_cast<int>(trials));
    for (std::int64_t j = trials; j > from; --j) {
      sum += term;
      term *= static_cast<double>(j) / static_cast<double>(trials - j + 1);
    }
    return std::min(1.0, sum + weight * term);
  }
  double sum = weight;
  double ratio = 1;  // P(j) / P(from), falling
  for (std::int64_t j = from + 1; j <= trials && ratio > sum * 1e-18; ++j) {
    ratio *= static_cast<double>(trials - j + 1) / static_cast<double>(j);
    sum += ratio;
  }
  return std::min(1.0, pm::exp(log_half_binomial(trials, from)) * sum);
}

void check_counts(std::int64_t only_a, std::int64_t only_b) {
  NB_CHECK(only_a >= 0 && only_b >= 0, "[mcnemar] counts {} and {} must not be negative", only_a,
           only_b);
}

double one_sided(std::int64_t only_a, std::int64_t only_b, double weight) {
  check_counts(only_a, only_b);
  if (only_a + only_b == 0) return 1;
  return half_binomial_tail(only_a + only_b, only_a, weight);
}

double two_sided(std::int64_t only_a, std::int64_t only_b, double weight) {
  check_counts(only_a, only_b);
  if (only_a == only_b) return 1;
  return std::min(1.0, 2 * half_binomial_tail(only_a + only_b, std::max(only_a, only_b), weight));
}

void check_table(const PairedCounts& counts) {
  NB_CHECK(counts.both >= 0 && counts.only_a >= 0 && counts.only_b >= 0 && counts.neither >= 0 &&
               counts.n() > 0,
           "[paired] a table needs items and no negative count: {}, {}, {}, {}", counts.both,
           counts.only_a, counts.only_b, counts.neither);
}

}  // namespace

double PairedCounts::difference() const {
  check_table(*this);
  return static_cast<double>(only_b - only_a) / static_cast<double>(n());
}

double PairedCounts::discordance() const {
  check_table(*this);
  return static_cast<double>(only_a + only_b) / static_cast<double>(n());
}

double mid_p_two_sided(std::int64_t only_a, std::int64_t only_b) {
  return two_sided(only_a, only_b, 0.5);
}
double exact_p_two_sided(std::int64_t only_a, std::int64_t only_b) {
  return two_sided(only_a, only_b, 1);
}
double mid_p_worse(std::int64_t only_a, std::int64_t only_b) {
  return one_sided(only_a, only_b, 0.5);
}
double exact_p_worse(std::int64_t only_a, std::int64_t only_b) {
  return one_sided(only_a, only_b, 1);
}

Interval wilson(std::int64_t successes, std::int64_t n, double z) {
  NB_CHECK(n > 0 && successes >= 0 && successes <= n, "[wilson] {} of {}", successes, n);
  const double size = static_cast<double>(n);
  const double p = static_cast<double>(successes) / size;
  const double square = z * z;
  const double centre = p + square / (2 * size);
  const double half = z * pm::sqrt(p * (1 - p) / size + square / (4 * size * size));
  const double scale = 1 + square / size;
  // Rounding must not push an end past what is possible.
  const double low = successes == 0 ? 0 : std::max(0.0, (centre - half) / scale);
  const double high = successes == n ? 1 : std::min(1.0, (centre + half) / scale);
  return {low, high};
}

Interval newcombe_paired(const PairedCounts& counts, double z) {
  check_table(counts);
  const auto d = [](std::int64_t v) { return static_cast<double>(v); };
  const double a = d(counts.both), b = d(counts.only_a), c = d(counts.only_b),
               e = d(counts.neither);
  const double n = a + b + c + e;
  const double p1 = (a + b) / n, p2 = (a + c) / n;
  const Interval w1 = wilson(counts.both + counts.only_a, counts.n(), z);
  const Interval w2 = wilson(counts.both + counts.only_b, counts.n(), z);
  const double spread = (a + b) * (c + e) * (a + c) * (b + e);
  double phi = 0;
  if (spread > 0) {
    const double cross = a * e - b * c;
    phi = (cross > 0 ? std::max(cross - n / 2, 0.0) : cross) / pm::sqrt(spread);
  }
  const double l1 = p1 - w1.low, u1 = w1.high - p1, l2 = p2 - w2.low, u2 = w2.high - p2;
  const double down = pm::sqrt(std::max(0.0, l1 * l1 - 2 * phi * l1 * u2 + u2 * u2));
  const double up = pm::sqrt(std::max(0.0, u1 * u1 - 2 * phi * u1 * l2 + l2 * l2));
  const double difference = p1 - p2;
  return {-(difference + up), -(difference - down)};
}

double paired_min_detectable(double discordance, std::int64_t n) {
  NB_CHECK(n > 0 && discordance >= 0, "[power] discordance {} over {} items", discordance, n);
  return kZPower80 * pm::sqrt(discordance / static_cast<double>(n));
}

double paired_min_detectable(const PairedCounts& counts) {
  const double n = static_cast<double>(counts.n());
  return std::min(1.0,
                  std::max(paired_min_detectable(counts.discordance(), counts.n()), kMinFlips / n));
}

double accuracy_margin(std::int64_t n, double noise_discordance) {
  NB_CHECK(n > 0 && noise_discordance >= 0, "[margin] {} items, discordance {}", n,
           noise_discordance);
  const double size = static_cast<double>(n);
  return std::max({0.01, 3.3 * pm::sqrt(noise_discordance / size), 6 / size});
}

}  // namespace nb
