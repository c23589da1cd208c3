// The mean of values in the order in which they were measured, each like the one before it:
// differences of two curves, step by step.
#pragma once

#include <optional>
#include <span>

#include "results/stats/stats.hpp"

namespace nb {

// Whether the mean is 0, by Student's t with the largest of several standard errors. Some take the
// correlation of neighbours for all there is (an effective number of values, n (1 − r) / (1 + r); r
// corrected for few values: Kendall 1954): of the values, and of means of 2, 4, … of them, in which
// what wanders slowly shows below other noise. One sums the slowest four cosines (Müller 2007;
// Lazarus, Lewis, Stock and Watson 2018). Nothing: fewer than 12 values, or so alike that they
// count as fewer than four.
std::optional<MeanTest> correlated_mean(std::span<const double> values);

}  // namespace nb
