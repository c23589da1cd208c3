// Statistics of comparisons and gates; every formula is of spec statistics.md §2–§7. Pure functions
// on counts and values; logarithms and the like through nb::pm, so verdicts have the same bits on
// every host.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace nb {

struct Interval {
  double low = 0, high = 0;
};

inline constexpr double kZ95 = 1.959963984540054;   // two-sided 95 %
inline constexpr double kZ90 = 1.6448536269514722;  // two-sided 90 %: one-sided 5 %

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
// Interval of (c − b)/n. Newcombe method 10 is the default of every table; Tango's score interval
// beside it.
Interval newcombe_paired(const PairedCounts& counts, double z = kZ95);
Interval tango_paired(const PairedCounts& counts, double z = kZ95);

std::vector<double> holm(std::span<const double> p);  // adjusted p, input order
std::vector<double> benjamini_hochberg(
    std::span<const double> p);  // q, input order; exploratory tables only

double mean(std::span<const double> values);
double sample_sd(std::span<const double> values);  // n − 1; at least 2 values
double student_t_cdf(double t, double df);         // df > 0 may be fractional
double student_t_quantile(double p, double df);    // 0 < p < 1

// Two independent sides, B − A, unequal variances (Welch–Satterthwaite). At least 2 values a side.
// With both variances 0: p is 0 or 1 by the sign of the difference, df is 0 and the interval has no
// width.
struct WelchTest {
  double difference = 0, t = 0, df = 0;
  double p_two_sided = 1, p_below = 1, p_above = 1;  // p_below: evidence that B < A
  Interval interval95, interval90;
};
WelchTest welch(std::span<const double> a, std::span<const double> b);

// Power (§4). k(m)·SD is found with 80 % power, two-sided .05, by m seeds against m (noncentral t).
double seeds_factor(int seeds_a_side);  // m >= 2
double one_new_seed_factor(int seeds);  // one new run against m, one-sided .05; m >= 3
// Seeds a side to find a difference with 80 % power; at most `limit`, else limit + 1.
int seeds_needed(double difference, double sd, int limit = 1000);
double paired_mde80(double discordance, std::int64_t n);                  // accuracy difference
std::int64_t paired_items_needed(double discordance, double difference);  // difference > 0

// Margin of a task (§6): max(.01, 3.3·sqrt(ψ_card/n), 6/n); without a noise card ψ_card = 0.
double accuracy_margin(std::int64_t n, double card_discordance = 0);

}  // namespace nb
