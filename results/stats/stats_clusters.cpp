#include "results/stats/stats_clusters.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

struct Spread {
  double mean = 0, standard_error = 0;
  std::int64_t clusters = 0;
  bool all_equal = true;
};

Spread spread_of(std::span<const double> values, std::span<const std::int64_t> clusters) {
  NB_CHECK(clusters.empty() || clusters.size() == values.size(), "[clusters] {} of {} values",
           clusters.size(), values.size());
  Spread spread;
  spread.mean = mean(values);
  // Sums in order of first appearance: a hash table's own order must not reach the bits.
  std::unordered_map<std::int64_t, std::size_t> place;
  std::vector<double> sums;
  for (std::size_t i = 0; i < values.size(); ++i) {
    spread.all_equal = spread.all_equal && values[i] == values[0];
    const double deviation = values[i] - spread.mean;
    if (clusters.empty()) {
      sums.push_back(deviation);
      continue;
    }
    const auto [at, is_new] = place.try_emplace(clusters[i], sums.size());
    if (is_new) sums.push_back(0);
    sums[at->second] += deviation;
  }
  NB_CHECK(sums.size() >= 2, "[clusters] {} clusters give no standard error", sums.size());
  double squares = 0;
  for (const double sum : sums) squares += sum * sum;
  const double count = static_cast<double>(sums.size());
  spread.clusters = static_cast<std::int64_t>(sums.size());
  spread.standard_error = spread.all_equal ? 0
                                           : pm::sqrt(count / (count - 1) * squares) /
                                                 static_cast<double>(values.size());
  return spread;
}

}  // namespace

std::vector<std::int64_t> cluster_numbers(std::span<const std::string> names) {
  std::unordered_map<std::string_view, std::int64_t> known;
  std::vector<std::int64_t> numbers;
  for (const std::string& name : names)
    numbers.push_back(known.try_emplace(name, std::ssize(known)).first->second);
  return numbers;
}

ClusteredMean clustered_mean(std::span<const double> scores,
                             std::span<const std::int64_t> clusters) {
  const Spread spread = spread_of(scores, clusters);
  const double df = static_cast<double>(spread.clusters - 1);
  const double half = -student_t_quantile(0.025, df) * spread.standard_error;
  return {spread.mean,
          spread.standard_error,
          spread.clusters,
          {spread.mean - half, spread.mean + half}};
}

MeanTest clustered_paired(std::span<const double> a, std::span<const double> b,
                          std::span<const std::int64_t> clusters) {
  NB_CHECK(a.size() == b.size(), "[paired] {} and {} scores", a.size(), b.size());
  std::vector<double> differences;
  for (std::size_t i = 0; i < a.size(); ++i) differences.push_back(b[i] - a[i]);
  const Spread spread = spread_of(differences, clusters);
  // Without spread every cluster moved alike: as many tosses of a coin.
  const double p_of_sign =
      std::ldexp(1.0, -static_cast<int>(std::min<std::int64_t>(spread.clusters, 1000)));
  return mean_test(spread.all_equal ? differences[0] : spread.mean, spread.standard_error,
                   static_cast<double>(spread.clusters - 1), p_of_sign);
}

double pass_at_k(std::int64_t samples, std::int64_t correct, std::int64_t k) {
  NB_CHECK(1 <= k && k <= samples && 0 <= correct && correct <= samples,
           "[pass@k] {} of {} samples, k {}", correct, samples, k);
  if (samples - correct < k) return 1;
  double none = 1;
  for (std::int64_t j = samples - correct + 1; j <= samples; ++j)
    none *= 1 - static_cast<double>(k) / static_cast<double>(j);
  return 1 - none;
}

}  // namespace nb
