// Two shares of which only counts or printed values are known: no items, so no pairing. Weaker than
// anything in stats_paired.cpp; for published tables.
#pragma once

#include <cstdint>

#include "results/stats/stats.hpp"

namespace nb {

struct UnpairedTest {
  double difference = 0;  // b − a
  double standard_error = 0;
  double z = 0, p_two_sided = 1;  // pooled two-proportion z test
  Interval interval95;            // Wald, unpooled
};
// Shares of n items each; n >= 1, 0 <= share <= 1. Without any spread p is 1 or, where the shares
// differ, 0.
UnpairedTest unpaired_shares(double a, std::int64_t n_a, double b, std::int64_t n_b);
// Interval of b − a: Newcombe's method 10 for independent proportions (1998), from the Wilson
// limits of each.
Interval newcombe_unpaired(double a, std::int64_t n_a, double b, std::int64_t n_b, double z = kZ95);
// Wilson limits of a share that was printed (its count need not be whole).
Interval wilson_of_share(double share, std::int64_t n, double z = kZ95);

}  // namespace nb
