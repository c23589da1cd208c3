// Statistics of values that are walked instead of held, to the same bits as those of a vector
// (stats.hpp): sums in the order of the values, order statistics by counting digits.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "results/stats/stats.hpp"

namespace nb {

using TakeValues = std::function<void(std::span<const double>)>;

struct WalkedValues {
  std::size_t size = 0;
  // Gives all values, some at a time, in the same order whenever it is called.
  std::function<void(const TakeValues&)> walk;
};

double mean(const WalkedValues& values);       // at least 1
double sample_sd(const WalkedValues& values);  // n − 1; at least 2
double median(const WalkedValues& values);     // at least 1
// As sorted_quantile() of the values, sorted.
double quantile(const WalkedValues& values, double p);
// As paired_t() of two sides with these differences B − A; at least 2.
MeanTest paired_t(const WalkedValues& differences);

}  // namespace nb
