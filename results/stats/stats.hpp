// Statistics of comparisons and gates: mid-p McNemar (Fagerland et al. 2013), Newcombe's method 10
// (1998), Welch, Holm. Pure functions on counts and values; logarithms and the like through nb::pm,
// so verdicts have the same bits on every host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nb {

struct Interval {
  double low = 0, high = 0;
};

inline constexpr double kZ95 = 1.959963984540054;        // two-sided 95 %
inline constexpr double kZ90 = 1.6448536269514722;       // two-sided 90 %: one-sided 5 %
inline constexpr double kZPower80 = 2.8015852181129680;  // z(.975) + z(.80)
inline constexpr double kAlpha = .05;  // level at which a difference is more than chance

// The same items in baseline A and candidate B.
struct PairedCounts {
  std::int64_t both = 0;     // a: right in A and B
  std::int64_t only_a = 0;   // b: A right, B wrong
  std::int64_t only_b = 0;   // c: A wrong, B right
  std::int64_t neither = 0;  // d
  std::int64_t n() const { return both + only_a + only_b + neither; }
  double difference() const;   // (c − b)/n, negative: B is worse; n > 0
  double discordance() const;  // ψ = (b + c)/n
};

// McNemar. Two-sided p and one-sided p of "B is worse" (swap for better); b, c >= 0.
double mid_p_two_sided(std::int64_t only_a, std::int64_t only_b);
double exact_p_two_sided(std::int64_t only_a, std::int64_t only_b);
double mid_p_worse(std::int64_t only_a, std::int64_t only_b);
double exact_p_worse(std::int64_t only_a, std::int64_t only_b);

Interval wilson(std::int64_t successes, std::int64_t n, double z = kZ95);
// Interval of (c − b)/n: Newcombe's method 10 (1998).
Interval newcombe_paired(const PairedCounts& counts, double z = kZ95);

std::vector<double> holm(std::span<const double> p);  // adjusted p, input order
// q values of Benjamini and Hochberg (1995), input order: the share of false discoveries among
// what is called different at that q. For looking around in many tasks, never for a verdict.
std::vector<double> benjamini_hochberg(std::span<const double> p);

double mean(std::span<const double> values);
double median(std::vector<double> values);  // at least 1 value; of an even count the middle
// Linear between order statistics (numpy's default); rising values, at least 1, 0 <= p <= 1.
double sorted_quantile(std::span<const double> sorted, double p);
double sample_sd(std::span<const double> values);              // n − 1; at least 2 values
double student_t_cdf(double t, double df);                     // df > 0 may be fractional
double student_t_quantile(double p, double df);                // 0 < p < 1
double poisson_at_least(std::int64_t count, double expected);  // P(X >= count); expected >= 0
// Upper end of a one-sided 80 % interval of a standard deviation that was estimated from normal
// values with df degrees of freedom: sd·sqrt(df/χ²(.20, df)). 1.56 × sd of 5 values.
double sd_upper80(double sd, double df);

// A difference of means B − A with its standard error, judged by Student's t. Without any spread
// (standard_error 0): df is 0, the interval has no width and the p values are those of the sign
// test where values are paired, else 0 or 1 by the sign of the difference.
struct MeanTest {
  double difference = 0, standard_error = 0, t = 0, df = 0;
  double p_two_sided = 1, p_below = 1, p_above = 1;  // p_below: evidence that B < A
  Interval interval95, interval90;
};
// A difference with its standard error; without spread (0) p is p_of_sign on the side it lies.
MeanTest mean_test(double difference, double standard_error, double df, double p_of_sign);
// Two independent sides, unequal variances (Welch–Satterthwaite). At least 2 values per side.
MeanTest welch(std::span<const double> a, std::span<const double> b);
// The same seeds on both sides, in the same order: differences of 0 count like all others. At
// least 2 values.
MeanTest paired_t(std::span<const double> a, std::span<const double> b);
// One new value against a prediction interval of `many` (at least 2): SD·sqrt(1 + 1/m), m − 1
// degrees of freedom. The difference is one − mean(many).
MeanTest one_against(std::span<const double> many, double one);

// Power. The difference that a t test with this standard error finds with 80 % power, two-sided
// .05 (noncentral t); infinite without degrees of freedom.
double min_detectable(double standard_error, double df);
double seeds_factor(int seeds_a_side);  // detectable/SD of m seeds against m others; m >= 2
// Pairs of seeds to find a difference with 80 % power, where paired differences have this SD; at
// most `limit`, else limit + 1.
int seed_pairs_needed(double difference, double sd, int limit = 1000);
// The same without pairs: seeds a side.
int seeds_needed(double difference, double sd, int limit = 1000);
double paired_min_detectable(double discordance, std::int64_t n);  // accuracy difference
// Smallest accuracy difference that a comparison of n items can show: paired_min_detectable, but at
// least 6 flips in one direction, because fewer cannot reach .05 in an exact two-sided test.
double paired_min_detectable(const PairedCounts& counts);

// Margin of a task: max(.01, 3.3·sqrt(ψ_noise/n), 6/n); without a noise profile ψ_noise = 0.
double accuracy_margin(std::int64_t n, double noise_discordance = 0);

}  // namespace nb
