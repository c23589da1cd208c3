#include "results/stats/stats_composite.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

constexpr std::size_t kContributors = 3;

}  // namespace

double paired_standard_error(const PairedCounts& counts) {
  const double n = static_cast<double>(counts.n());
  NB_CHECK(counts.n() >= 2, "[paired] {} items give no standard error", counts.n());
  const double mean = counts.difference();
  const double squares = counts.discordance() - mean * mean;
  return pm::sqrt(std::max(0.0, squares) / (n - 1));
}

std::optional<CompositeDifference> composite_difference(std::span<const CompositeTask> tasks,
                                                        std::size_t expected) {
  if (tasks.empty() || tasks.size() != expected) return std::nullopt;
  CompositeDifference result;
  const double count = static_cast<double>(tasks.size());
  double variance = 0;
  for (const CompositeTask& task : tasks) {
    NB_CHECK(task.baseline < 1 && task.standard_error >= 0, "[composite] {}: baseline {}, SE {}",
             task.task, task.baseline, task.standard_error);
    const double scale = 1 / (count * (1 - task.baseline));
    const double error = task.standard_error * scale;
    result.difference += task.difference * scale;
    variance += error * error;
    result.largest.push_back({task.task, error, 0});
  }
  result.standard_error = pm::sqrt(variance);
  const double half = kZ95 * result.standard_error;
  result.interval95 = {result.difference - half, result.difference + half};
  result.min_detectable = kZPower80 * result.standard_error;
  if (result.standard_error > 0)
    result.p_two_sided =
        std::min(1.0, 2 * pm::normal_cdf(-std::fabs(result.difference / result.standard_error)));
  else if (result.difference != 0)
    result.p_two_sided = 0;
  std::stable_sort(result.largest.begin(), result.largest.end(), [](const auto& x, const auto& y) {
    return x.standard_error > y.standard_error;
  });
  if (result.largest.size() > kContributors) result.largest.resize(kContributors);
  for (CompositeContributor& one : result.largest)
    one.share = variance > 0 ? one.standard_error * one.standard_error / variance : 0;
  return result;
}

}  // namespace nb
