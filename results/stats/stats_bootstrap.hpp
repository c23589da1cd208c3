// The bootstrap of paired differences: clusters are drawn with replacement, all items of one
// together. Draws are functions of (seed, task, replicate), so threads and order change nothing.
// For what has no closed form: composites, shares of samples, clusters.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "harness/base/rng.hpp"
#include "results/stats/stats.hpp"

namespace nb {

struct BootstrapSettings {
  std::uint64_t seed = 20240817;
  std::string task = {};  // part of the key of every draw
  int replicates = 10000;
  // Clusters that all differ are drawn one by one: then so few replicates that this many draws are
  // enough, but 1,000 at least. 20,000 items take half a second.
  std::int64_t most_draws = 20'000'000;
};

struct Bootstrap {
  double estimate = 0;        // of the data themselves
  double standard_error = 0;  // standard deviation of the replicates
  Interval percentile95;      // quantiles of the replicates, interpolated linearly
  Interval bca95;             // bias-corrected and accelerated (Efron 1987); no spread: no width
  int replicates = 0;
};

// Replicates of (c − b)/n of 0/1 items without clusters: (b*, c*) ~ Multinomial(n; b/n, c/n), which
// is the bootstrap of the items in constant time a replicate.
std::vector<double> replicates_of(const PairedCounts& counts, const BootstrapSettings& settings);
// Replicates of the mean of differences; clusters[i] is the cluster of difference i, an empty span:
// each is one. At least one value.
std::vector<double> replicates_of(std::span<const double> differences,
                                  std::span<const std::int64_t> clusters,
                                  const BootstrapSettings& settings);

Bootstrap bootstrap(const PairedCounts& counts, const BootstrapSettings& settings = {});
Bootstrap bootstrap(std::span<const double> differences, std::span<const std::int64_t> clusters,
                    const BootstrapSettings& settings = {});
// Of any statistic whose replicates are known; acceleration: Σ(m − t_i)³ / (6·(Σ(m − t_i)²)^1.5)
// over the values t_i without cluster i and their mean m.
Bootstrap bootstrap_of(double estimate, std::vector<double> replicates, double acceleration);

// The next uniform draws of one replicate.
class Draws {
 public:
  explicit Draws(const Rng& rng) : rng_(rng) {}
  double uniform() { return rng_.uniform(next_++); }
  std::uint64_t below(std::uint64_t n) { return rng_.below(next_++, n); }
  // Binomial(n, p) in constant time: inversion below a mean of 10, else Hörmann's BTRS (1993).
  std::int64_t binomial(std::int64_t n, double p);

 private:
  Rng rng_;
  std::uint64_t next_ = 0;
};

}  // namespace nb
