// Independent sides: t tests over seeds and their power; corrections for many tests.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <numeric>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "results/stats/stats.hpp"
#include "results/stats/stats_walked.hpp"

namespace nb {
namespace {

constexpr double kPower = 0.80;
constexpr double kZ80 = 0.8416212335729143;  // z(.80)

// Continued fraction of the incomplete beta function (modified Lentz; DLMF 8.17.22).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  const auto guarded = [](double v) { return v < kTiny && v > -kTiny ? kTiny : v; };
  double c = 1;
  double d = 1 / guarded(1 - (a + b) * x / (a + 1));
  double h = d;
  for (int m = 1; m <= 10000; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guarded(1 + even * d);
    c = guarded(1 + even / c);
    h *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guarded(1 + odd * d);
    c = guarded(1 + odd / c);
    const double step = d * c;
    h *= step;
    if (step > 1 - 1e-15 && step < 1 + 1e-15) break;
  }
  return h;
}

// I_x(a, b); y = 1 − x is given apart, so that neither end loses digits.
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front =
      pm::exp(pm::lgamma(a + b) - pm::lgamma(a) - pm::lgamma(b) + a * pm::log(x) + b * pm::log(y));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

// Regularised lower incomplete gamma function P(a, x), a > 0: its power series (DLMF 8.11.4) or the
// continued fraction of 1 − P (DLMF 8.9.2, modified Lentz).
double incomplete_gamma(double a, double x) {
  if (x <= 0) return 0;
  const double front = pm::exp(a * pm::log(x) - x - pm::lgamma(a));
  if (x < a + 1) {
    double term = 1 / a, sum = term;
    for (int n = 1; n <= 100000 && term > sum * 1e-17; ++n) {
      term *= x / (a + n);
      sum += term;
    }
    return std::min(1.0, front * sum);
  }
  constexpr double kTiny = 1e-300;
  const auto guarded = [](double v) { return v < kTiny && v > -kTiny ? kTiny : v; };
  double b = x + 1 - a, c = 1 / kTiny, d = 1 / guarded(b), h = d;
  for (int n = 1; n <= 100000; ++n) {
    const double even = -n * (n - a);
    b += 2;
    d = 1 / guarded(even * d + b);
    c = guarded(b + even / c);
    const double step = d * c;
    h *= step;
    if (step > 1 - 1e-15 && step < 1 + 1e-15) break;
  }
  return std::max(0.0, 1 - front * h);
}

// Power of a t test by Simpson's rule over s = sqrt(χ²/df), whose density is known: P(T > t | s) =
// Φ(ncp − t·s).
class NoncentralPower {
 public:
  NoncentralPower(double df, double t_critical, bool two_sided)
      : t_critical_(t_critical), two_sided_(two_sided) {
    // The density is 0 at s = 0 for df >= 2 and below 1e-20 at the top; error of the rule below
    // 1e-9.
    const double top = 1 + 12 / pm::sqrt(df);
    const double log_front = pm::log(2.0) + df / 2 * pm::log(df / 2) - pm::lgamma(df / 2);
    for (int i = 1; i <= kCells; ++i) {
      const double s = top * i / kCells;
      const double density = pm::exp(log_front + (df - 1) * pm::log(s) - df * s * s / 2);
      const double weight = i == kCells ? 1 : (i % 2 == 1 ? 4 : 2);
      scales_[static_cast<std::size_t>(i - 1)] = s;
      weights_[static_cast<std::size_t>(i - 1)] = weight * density * (top / kCells) / 3;
    }
  }
  double at(double ncp) const {
    double sum = 0;
    for (std::size_t i = 0; i < scales_.size(); ++i) {
      if (weights_[i] < 1e-20) continue;
      double reject = pm::normal_cdf(ncp - t_critical_ * scales_[i]);
      if (two_sided_) reject += pm::normal_cdf(-ncp - t_critical_ * scales_[i]);
      sum += weights_[i] * reject;
    }
    return sum;
  }

 private:
  static constexpr int kCells = 600;  // even
  double t_critical_;
  bool two_sided_;
  std::array<double, kCells> scales_{}, weights_{};
};

// The noncentrality that gives 80 % power: regula falsi, halving the weight of an end that stays
// (Illinois).
double noncentrality_for_power(double df, double t_critical, bool two_sided) {
  const NoncentralPower power(df, t_critical, two_sided);
  // Around the normal approximation of the noncentral t (Johnson and Welch 1940).
  const double guess = (t_critical + kZ80 * pm::sqrt(1 + t_critical * t_critical / (2 * df))) /
                       (1 - 1 / (4 * std::max(df, 1.0)));
  double low = guess, high = guess, at_low = 0, at_high = 0;
  for (double reach = 0.1; at_low >= 0; reach *= 4) {
    low = std::max(0.0, guess - reach);
    at_low = power.at(low) - kPower;
  }
  for (double reach = 0.1; at_high <= 0; reach *= 4) {
    high = guess + reach;
    at_high = power.at(high) - kPower;
  }
  int side = 0;
  for (int i = 0; i < 60 && high - low > 1e-10; ++i) {
    const double middle = (low * at_high - high * at_low) / (at_high - at_low);
    const double value = power.at(middle) - kPower;
    if (value > -1e-13 && value < 1e-13) return middle;
    if (value < 0) {
      low = middle;
      at_low = value;
      if (side == -1) at_high /= 2;
      side = -1;
    } else {
      high = middle;
      at_high = value;
      if (side == 1) at_low /= 2;
      side = 1;
    }
  }
  return (low + high) / 2;
}

std::vector<std::size_t> rising_order(std::span<const double> p) {
  for (const double value : p)
    NB_CHECK(value >= 0 && value <= 1, "[p values] {} is not a probability", value);
  std::vector<std::size_t> order(p.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto i, auto j) { return p[i] < p[j]; });
  return order;
}

}  // namespace

std::vector<double> holm(std::span<const double> p) {
  const auto order = rising_order(p);
  std::vector<double> adjusted(p.size());
  double running = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double scaled = p[order[rank]] * static_cast<double>(p.size() - rank);
    running = std::max(running, std::min(1.0, scaled));
    adjusted[order[rank]] = running;
  }
  return adjusted;
}

std::vector<double> benjamini_hochberg(std::span<const double> p) {
  const auto order = rising_order(p);
  std::vector<double> q(p.size());
  double running = 1;
  for (std::size_t rank = order.size(); rank-- > 0;) {
    const double scaled =
        p[order[rank]] * static_cast<double>(p.size()) / static_cast<double>(rank + 1);
    running = std::min(running, scaled);
    q[order[rank]] = running;
  }
  return q;
}

double mean(std::span<const double> values) {
  NB_CHECK(!values.empty(), "[mean] of no values");
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  NB_CHECK(!values.empty(), "[median] of no values");
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double sorted_quantile(std::span<const double> sorted, double p) {
  NB_CHECK(!sorted.empty() && p >= 0 && p <= 1, "[quantile] {} of {} values", p, sorted.size());
  const double at = p * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  if (low + 1 >= sorted.size()) return sorted.back();
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[low + 1] - sorted[low]);
}

double sample_sd(std::span<const double> values) {
  NB_CHECK(values.size() >= 2, "[sd] of {} values", values.size());
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return pm::sqrt(sum / static_cast<double>(values.size() - 1));
}

double student_t_cdf(double t, double df) {
  NB_CHECK(df > 0, "[t] {} degrees of freedom", df);
  const double square = t * t;
  const double tail =
      0.5 * incomplete_beta(df / 2, 0.5, df / (df + square), square / (df + square));
  return t > 0 ? 1 - tail : tail;
}

double student_t_quantile(double p, double df) {
  NB_CHECK(p > 0 && p < 1, "[t] quantile of {}", p);
  if (p > 0.5) return -student_t_quantile(1 - p, df);  // the lower tail keeps its digits
  double low = -1, high = 0;
  while (student_t_cdf(low, df) > p && low > -1e300) low *= 2;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (student_t_cdf(middle, df) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

double poisson_at_least(std::int64_t count, double expected) {
  NB_CHECK(expected >= 0, "[poisson] {} expected", expected);
  return count <= 0 ? 1 : incomplete_gamma(static_cast<double>(count), expected);
}

double sd_upper80(double sd, double df) {
  NB_CHECK(sd >= 0 && df > 0, "[sd] {} with {} degrees of freedom", sd, df);
  // Bisection for the 20 % quantile of χ², which lies below df.
  double low = 0, high = df;
  for (int i = 0; i < 200; ++i) {
    const double middle = (low + high) / 2;
    if (middle <= low || middle >= high) break;
    (incomplete_gamma(df / 2, middle / 2) < 0.20 ? low : high) = middle;
  }
  return sd * pm::sqrt(df / ((low + high) / 2));
}

namespace {

// p values and intervals of a difference with its standard error > 0.
void finish(MeanTest& test) {
  test.t = test.difference / test.standard_error;
  test.p_below = student_t_cdf(test.t, test.df);
  test.p_above = student_t_cdf(-test.t, test.df);
  test.p_two_sided = std::min(1.0, 2 * std::min(test.p_below, test.p_above));
  const double half95 = -student_t_quantile(0.025, test.df) * test.standard_error;
  const double half90 = -student_t_quantile(0.05, test.df) * test.standard_error;
  test.interval95 = {test.difference - half95, test.difference + half95};
  test.interval90 = {test.difference - half90, test.difference + half90};
}

// No spread: the difference is all there is; p is that of its sign.
void finish_without_spread(MeanTest& test, double p_of_sign) {
  test.df = 0;
  test.p_below = test.difference < 0 ? p_of_sign : 1;
  test.p_above = test.difference > 0 ? p_of_sign : 1;
  test.p_two_sided = test.difference == 0 ? 1 : std::min(1.0, 2 * p_of_sign);
  test.interval95 = test.interval90 = {test.difference, test.difference};
}

}  // namespace

MeanTest mean_test(double difference, double standard_error, double df, double p_of_sign) {
  MeanTest test;
  test.difference = difference;
  test.standard_error = standard_error;
  test.df = df;
  if (standard_error > 0)
    finish(test);
  else
    finish_without_spread(test, p_of_sign);
  return test;
}

MeanTest welch(std::span<const double> a, std::span<const double> b) {
  const double sd_a = sample_sd(a), sd_b = sample_sd(b);
  const double m_a = static_cast<double>(a.size()), m_b = static_cast<double>(b.size());
  const double var_a = sd_a * sd_a / m_a, var_b = sd_b * sd_b / m_b;
  MeanTest test;
  test.difference = mean(b) - mean(a);
  const double variance = var_a + var_b;
  if (variance <= 0) {
    finish_without_spread(test, 0);
    return test;
  }
  test.standard_error = pm::sqrt(variance);
  // Shares keep squares of tiny variances from underflowing.
  const double share_a = var_a / variance, share_b = var_b / variance;
  test.df = 1 / (share_a * share_a / (m_a - 1) + share_b * share_b / (m_b - 1));
  finish(test);
  return test;
}

MeanTest paired_t(std::span<const double> a, std::span<const double> b) {
  NB_CHECK(a.size() == b.size() && a.size() >= 2, "[paired t] {} and {} values", a.size(),
           b.size());
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  return paired_t(
      WalkedValues{differences.size(), [&](const TakeValues& take) { take(differences); }});
}

MeanTest one_against(std::span<const double> many, double one) {
  const double m = static_cast<double>(many.size());
  MeanTest test;
  test.difference = one - mean(many);
  test.standard_error = sample_sd(many) * pm::sqrt(1 + 1 / m);
  test.df = m - 1;
  if (test.standard_error == 0)
    finish_without_spread(test, 0);
  else
    finish(test);
  return test;
}

double min_detectable(double standard_error, double df) {
  NB_CHECK(standard_error >= 0 && df >= 0, "[power] standard error {}, df {}", standard_error, df);
  if (df <= 0) return std::numeric_limits<double>::infinity();
  // Milliseconds each, and a gate asks for few degrees of freedom many times.
  thread_local std::map<double, double> known;
  const auto [at, is_new] = known.try_emplace(df);
  if (is_new) at->second = noncentrality_for_power(df, -student_t_quantile(0.025, df), true);
  return standard_error * at->second;
}

double seeds_factor(int seeds_a_side) {
  NB_CHECK(seeds_a_side >= 2, "[power] {} seeds a side", seeds_a_side);
  const double m = seeds_a_side;
  return min_detectable(pm::sqrt(2 / m), 2 * m - 2);
}

namespace {

// The normal formula's number is too small by one or two: start there and go up.
template <class Detectable>
int count_needed(double difference, double sd, double normal_count, int limit,
                 Detectable detectable_by) {
  NB_CHECK(difference > 0 && sd >= 0, "[power] difference {}, sd {}", difference, sd);
  int count = normal_count > limit ? limit + 1 : std::max(2, static_cast<int>(normal_count));
  while (count <= limit && detectable_by(count) > difference) ++count;
  return count;
}

}  // namespace

int seed_pairs_needed(double difference, double sd, int limit) {
  const double z_ratio = kZPower80 * sd / difference;
  return count_needed(difference, sd, z_ratio * z_ratio, limit, [&](int m) {
    return min_detectable(sd / pm::sqrt(static_cast<double>(m)), m - 1);
  });
}

int seeds_needed(double difference, double sd, int limit) {
  const double z_ratio = kZPower80 * sd / difference;
  return count_needed(difference, sd, 2 * z_ratio * z_ratio, limit,
                      [&](int m) { return seeds_factor(m) * sd; });
}

}  // namespace nb
