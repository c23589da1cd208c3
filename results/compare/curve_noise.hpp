// How much a curve jumps about its own trend, and how finely it was printed. Of sequences in the
// order of their steps; no curve, no verdict.
#pragma once

#include <cstddef>
#include <vector>

namespace nb {

// SD of the noise from values that are `lag` apart: median |x(i) − 2 x(i + lag) + x(i + 2 lag)|
// / (.6745 √6). A straight trend adds nothing, a step or a spike little (it is a median). Noise
// that is correlated over more than `lag` steps is seen in part. 0 with fewer than three values.
double noise_at_lag(const std::vector<double>& values, std::size_t lag);
// The largest of lags 1, 2, 4, … up to a seventh of the sequence: also what wanders slowly.
double wandering_noise(const std::vector<double>& values);
// Upper 80 % limit of an SD that was measured so on `count` values (rule 8 of README.md).
double noise_upper80(double noise, std::size_t count);

// The unit of the last decimal that the values were printed with, .0001 for 2.4931; 0: more than
// seven decimals.
double printed_unit(const std::vector<double>& values);
// Significant decimal digits that the values have at most, 1 to 17.
int significant_digits(const std::vector<double>& values);
// Equal as far as numbers of so many significant digits can tell.
bool equal_to_digits(double a, double b, int digits);

}  // namespace nb
