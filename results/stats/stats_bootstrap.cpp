#include "results/stats/stats_bootstrap.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>
#include <utility>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

constexpr double kInversionMean = 10;
// More kinds of clusters than this are drawn one by one.
constexpr std::size_t kMostKinds = 64;

constexpr std::int64_t kFewestReplicates = 1000;

// Clusters that cannot be told apart: sum and number of their items.
struct Kind {
  double sum = 0;
  std::int64_t size = 0;
  std::int64_t count = 0;
};

struct Clusters {
  std::vector<std::pair<double, std::int64_t>> each;  // sum, size
  std::vector<Kind> kinds;                            // empty: too many
  double sum = 0;
  std::int64_t items = 0;
};

Clusters clusters_of(std::span<const double> differences, std::span<const std::int64_t> names) {
  NB_CHECK(!differences.empty() && (names.empty() || names.size() == differences.size()),
           "[bootstrap] {} differences in {} clusters", differences.size(), names.size());
  Clusters all;
  std::unordered_map<std::int64_t, std::size_t> place;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    std::size_t at = all.each.size();
    if (!names.empty()) at = place.try_emplace(names[i], at).first->second;
    if (at == all.each.size()) all.each.emplace_back(0.0, 0);
    all.each[at].first += differences[i];
    ++all.each[at].second;
  }
  std::map<std::pair<double, std::int64_t>, std::int64_t> kinds;
  for (const auto& cluster : all.each) {
    all.sum += cluster.first;
    all.items += cluster.second;
    if (kinds.size() <= kMostKinds) ++kinds[cluster];
  }
  if (kinds.size() <= kMostKinds)
    for (const auto& [kind, count] : kinds) all.kinds.push_back({kind.first, kind.second, count});
  return all;
}

// Multinomial counts of the kinds, one binomial after the other.
double draw_kinds(const std::vector<Kind>& kinds, std::int64_t clusters, Draws& draws) {
  double sum = 0;
  std::int64_t items = 0, left = clusters, rest = clusters;
  for (const Kind& kind : kinds) {
    const double share = static_cast<double>(kind.count) / static_cast<double>(rest);
    const std::int64_t drawn = kind.count == rest ? left : draws.binomial(left, share);
    sum += kind.sum * static_cast<double>(drawn);
    items += kind.size * drawn;
    left -= drawn;
    rest -= kind.count;
  }
  return sum / static_cast<double>(items);
}

double draw_each(const Clusters& all, Draws& draws) {
  double sum = 0;
  std::int64_t items = 0;
  for (std::size_t i = 0; i < all.each.size(); ++i) {
    const auto& [part, size] = all.each[draws.below(all.each.size())];
    sum += part;
    items += size;
  }
  return sum / static_cast<double>(items);
}

template <class Draw>
std::vector<double> replicate(const BootstrapSettings& settings, Draw draw) {
  NB_CHECK(settings.replicates >= 2, "[bootstrap] {} replicates", settings.replicates);
  std::vector<double> replicates(static_cast<std::size_t>(settings.replicates));
  const std::string purpose = "bootstrap/" + settings.task;
  parallel_chunks(replicates.size(), 250, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      Draws draws(Rng(settings.seed, purpose, i));
      replicates[i] = draw(draws);
    }
  });
  return replicates;
}

// Σ(m − t_i)³ / (6·(Σ(m − t_i)²)^1.5) of values that occur `count` times each.
double acceleration_of(const std::vector<std::pair<double, double>>& values) {
  double sum = 0, count = 0;
  for (const auto& [value, times] : values) {
    sum += value * times;
    count += times;
  }
  const double centre = sum / count;
  double squares = 0, cubes = 0;
  for (const auto& [value, times] : values) {
    const double gap = centre - value;
    squares += times * gap * gap;
    cubes += times * gap * gap * gap;
  }
  return squares > 0 ? cubes / (6 * squares * pm::sqrt(squares)) : 0;
}

}  // namespace

std::int64_t Draws::binomial(std::int64_t n, double p) {
  NB_CHECK(n >= 0 && p >= 0 && p <= 1, "[binomial] {} trials, probability {}", n, p);
  if (n == 0 || p == 0) return 0;
  if (p > 0.5) return n - binomial(n, 1 - p);
  const double size = static_cast<double>(n), q = 1 - p;
  if (size * p < kInversionMean) {
    double term = pm::exp(size * pm::log1p(-p)), u = uniform();
    std::int64_t k = 0;
    // The terms fall fast: past 200 of a mean below 10 nothing is left.
    while (u > term && k < std::min<std::int64_t>(n, 200)) {
      u -= term;
      ++k;
      term *= (size - static_cast<double>(k) + 1) * p / (static_cast<double>(k) * q);
    }
    return k;
  }
  const double spread = pm::sqrt(size * p * q);
  const double b = 1.15 + 2.53 * spread;
  const double a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double centre = size * p + 0.5;
  const double accept = 0.92 - 4.2 / b;
  const double alpha = (2.83 + 5.1 / b) * spread;
  const double log_odds = pm::log(p / q);
  const double mode = std::floor((size + 1) * p);
  const double at_mode = pm::lgamma(mode + 1) + pm::lgamma(size - mode + 1);
  while (true) {
    const double u = uniform() - 0.5, v = uniform();
    const double edge = 0.5 - std::fabs(u);
    const double k = std::floor((2 * a / edge + b) * u + centre);
    if (edge >= 0.07 && v <= accept) return static_cast<std::int64_t>(k);
    if (!(k >= 0 && k <= size)) continue;
    const double height = pm::log(v * alpha / (a / (edge * edge) + b));
    if (height <= at_mode - pm::lgamma(k + 1) - pm::lgamma(size - k + 1) + (k - mode) * log_odds)
      return static_cast<std::int64_t>(k);
  }
}

std::vector<double> replicates_of(const PairedCounts& counts, const BootstrapSettings& settings) {
  const std::int64_t n = counts.n();
  NB_CHECK(n > 0, "[bootstrap] of no items");
  const double size = static_cast<double>(n);
  const double share_b = static_cast<double>(counts.only_a) / size;
  const double share_c = counts.only_a == n ? 0
                                            : static_cast<double>(counts.only_b) /
                                                  static_cast<double>(n - counts.only_a);
  return replicate(settings, [&](Draws& draws) {
    const std::int64_t b = draws.binomial(n, share_b);
    const std::int64_t c = draws.binomial(n - b, share_c);
    return static_cast<double>(c - b) / size;
  });
}

std::vector<double> replicates_of(std::span<const double> differences,
                                  std::span<const std::int64_t> clusters,
                                  const BootstrapSettings& settings) {
  const Clusters all = clusters_of(differences, clusters);
  if (!all.kinds.empty())
    return replicate(
        settings, [&](Draws& draws) { return draw_kinds(all.kinds, std::ssize(all.each), draws); });
  BootstrapSettings fewer = settings;
  const std::int64_t enough =
      std::max(kFewestReplicates, settings.most_draws / std::ssize(all.each));
  fewer.replicates = static_cast<int>(std::min<std::int64_t>(settings.replicates, enough));
  return replicate(fewer, [&](Draws& draws) { return draw_each(all, draws); });
}

Bootstrap bootstrap(const PairedCounts& counts, const BootstrapSettings& settings) {
  const double n = static_cast<double>(counts.n());
  const double sum = static_cast<double>(counts.only_b - counts.only_a);
  std::vector<std::pair<double, double>> without;
  if (n > 1)
    without = {{(sum + 1) / (n - 1), static_cast<double>(counts.only_a)},
               {(sum - 1) / (n - 1), static_cast<double>(counts.only_b)},
               {sum / (n - 1), static_cast<double>(counts.both + counts.neither)}};
  return bootstrap_of(counts.difference(), replicates_of(counts, settings),
                      without.empty() ? 0 : acceleration_of(without));
}

Bootstrap bootstrap(std::span<const double> differences, std::span<const std::int64_t> clusters,
                    const BootstrapSettings& settings) {
  const Clusters all = clusters_of(differences, clusters);
  std::vector<std::pair<double, double>> without;
  if (all.each.size() > 1)
    for (const auto& [sum, size] : all.each)
      without.emplace_back((all.sum - sum) / static_cast<double>(all.items - size), 1.0);
  return bootstrap_of(all.sum / static_cast<double>(all.items),
                      replicates_of(differences, clusters, settings),
                      without.empty() ? 0 : acceleration_of(without));
}

Bootstrap bootstrap_of(double estimate, std::vector<double> replicates, double acceleration) {
  NB_CHECK(replicates.size() >= 2, "[bootstrap] {} replicates", replicates.size());
  Bootstrap result;
  result.estimate = estimate;
  result.replicates = static_cast<int>(replicates.size());
  std::sort(replicates.begin(), replicates.end());
  result.percentile95 = {sorted_quantile(replicates, 0.025), sorted_quantile(replicates, 0.975)};
  if (replicates.front() == replicates.back()) {
    result.bca95 = result.percentile95;
    return result;
  }
  result.standard_error = sample_sd(replicates);
  // Of replicates that equal the estimate half lie below it: counts have few values.
  const auto [low, high] = std::equal_range(replicates.begin(), replicates.end(), estimate);
  const double size = static_cast<double>(replicates.size());
  const double below =
      static_cast<double>(low - replicates.begin()) + static_cast<double>(high - low) / 2;
  const double bias = pm::normal_quantile(std::clamp(below / size, 0.5 / size, 1 - 0.5 / size));
  const auto level = [&](double z) {
    const double shifted = bias + z;
    return pm::normal_cdf(bias + shifted / (1 - acceleration * shifted));
  };
  result.bca95 = {sorted_quantile(replicates, level(-kZ95)),
                  sorted_quantile(replicates, level(kZ95))};
  return result;
}

}  // namespace nb
