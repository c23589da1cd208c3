// Scores that are shares or that hang together: several samples of one item, several questions on
// one passage. Standard errors over clusters (arXiv 2411.00640), pass@k (arXiv 2107.03374). Pure
// functions; same bits on every host.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "results/stats/stats.hpp"

namespace nb {

// Below this many clusters a clustered standard error is itself too uncertain to rely on.
inline constexpr std::int64_t kFewClusters = 20;

// Equal texts, equal numbers: 0, 1, … in order of first appearance.
std::vector<std::int64_t> cluster_numbers(std::span<const std::string> names);

struct ClusteredMean {
  double mean = 0;
  double standard_error = 0;  // sqrt(C/(C−1) · Σ_c (Σ_{i∈c} (s_i − mean))² ) / n
  std::int64_t clusters = 0;  // C
  Interval interval95;        // Student's t, C − 1 degrees of freedom
};
// clusters[i] is the cluster of scores[i]; an empty span: every score by itself. At least two
// clusters.
ClusteredMean clustered_mean(std::span<const double> scores,
                             std::span<const std::int64_t> clusters = {});
// Mean of b[i] − a[i] over the same items, C − 1 degrees of freedom. At least two clusters.
MeanTest clustered_paired(std::span<const double> a, std::span<const double> b,
                          std::span<const std::int64_t> clusters = {});

// Chance that at least one of k samples is right, from `correct` of `samples`: 1 − C(n−c,k)/C(n,k),
// which no draw of k is biased against. 1 <= k <= samples, 0 <= correct <= samples.
double pass_at_k(std::int64_t samples, std::int64_t correct, std::int64_t k);

}  // namespace nb
