// The difference of a composite (CORE, ChatCORE) of two models on the same items: a mean of centred
// accuracies, whose standard error follows from the paired differences of its tasks.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "results/stats/stats.hpp"

namespace nb {

struct CompositeTask {
  std::string task;
  double difference = 0;      // of accuracies, B − A
  double standard_error = 0;  // of that, paired: paired_standard_error
  double baseline = 0;        // accuracy of guessing, r < 1
};

// sqrt(Var(d)/n) of 0/1 items, d in {−1, 0, 1}, sample variance; n >= 2.
double paired_standard_error(const PairedCounts& counts);

struct CompositeContributor {
  std::string task;
  double standard_error = 0;  // what this task alone would give the composite
  double share = 0;           // of the variance
};

struct CompositeDifference {
  double difference = 0;                      // (1/T) Σ d_t/(1 − r_t)
  double standard_error = 0;                  // (1/T) sqrt(Σ SE_t²/(1 − r_t)²)
  Interval interval95;                        // normal
  double p_two_sided = 1;                     // normal
  double min_detectable = 0;                  // smallest difference found with 80 % power
  std::vector<CompositeContributor> largest;  // at most three, largest first
};
// Nothing when there are not exactly `expected` tasks: a composite of fewer is another number.
std::optional<CompositeDifference> composite_difference(std::span<const CompositeTask> tasks,
                                                        std::size_t expected);

}  // namespace nb
