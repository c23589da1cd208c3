#include "results/stats/stats_correlated.hpp"

#include <algorithm>
#include <vector>

#include "harness/base/portable_math.hpp"

namespace nb {
namespace {

constexpr std::size_t kFewest = 12;  // values, or means of neighbours
constexpr double kFewestEffective = 4;
constexpr int kCosines = 4;
constexpr double kPi = 3.141592653589793;

// Means of `size` neighbours each; what is left over at the end is left out.
std::vector<double> means_of(std::span<const double> values, std::size_t size) {
  std::vector<double> means;
  for (std::size_t i = 0; i + size <= values.size(); i += size)
    means.push_back(mean(values.subspan(i, size)));
  return means;
}

struct Variance {
  double of_mean = 0, df = 0;
};

// Of the mean, by the correlation of neighbours; nothing: they count as too few.
std::optional<Variance> by_neighbours(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  const double middle = mean(values);
  double squares = 0, products = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    squares += (values[i] - middle) * (values[i] - middle);
    if (i > 0) products += (values[i] - middle) * (values[i - 1] - middle);
  }
  if (!(squares > 0)) return Variance{};
  const double r = std::clamp((n * products / squares + 1) / (n - 4), 0., 1.);
  const double effective = n * (1 - r) / (1 + r);
  if (effective < kFewestEffective) return std::nullopt;
  return Variance{squares / n / (effective - 1), effective - 1};
}

double by_cosines(std::span<const double> values) {
  const auto n = static_cast<double>(values.size());
  double variance = 0;
  for (int j = 1; j <= kCosines; ++j) {
    double sum = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      sum += values[i] * pm::cos(kPi * j * (static_cast<double>(i) + .5) / n);
    variance += 2 / n * sum * sum / kCosines / n;
  }
  return variance;
}

}  // namespace

std::optional<MeanTest> correlated_mean(std::span<const double> values) {
  if (values.size() < kFewest) return std::nullopt;
  Variance largest;
  for (std::size_t size = 1; values.size() / size >= kFewest; size *= 2) {
    const auto one = by_neighbours(means_of(values, size));
    if (!one) return std::nullopt;
    if (one->of_mean > largest.of_mean) largest = *one;
  }
  if (largest.of_mean > 0)
    if (const double slow = by_cosines(values); slow > largest.of_mean) largest = {slow, kCosines};
  return mean_test(mean(values), pm::sqrt(largest.of_mean), largest.df,
                   pm::pow(.5, static_cast<double>(values.size())));
}

}  // namespace nb
