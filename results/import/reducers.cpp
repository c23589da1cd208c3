// UKGovernmentBEIS/inspect_ai @ 499e6152e: src/inspect_ai/scorer/_reducer/reducer.py; a value of 1
// or more counts as right, as the reducers have it where nothing else is asked for.
#include "results/import/reducers.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "harness/base/check.hpp"

namespace nb {
namespace {

enum class Rule { kMean, kMedian, kMode, kMax, kAtLeast, kPassAt, kPassK };
struct Reducer {
  Rule rule;
  std::size_t k = 0;
};

std::optional<Reducer> reducer_of(std::string_view name) {
  if (name.empty() || name == "mean") return Reducer{Rule::kMean};
  if (name == "median") return Reducer{Rule::kMedian};
  if (name == "mode") return Reducer{Rule::kMode};
  if (name == "max") return Reducer{Rule::kMax};
  constexpr std::pair<std::string_view, Rule> kOfK[] = {
      {"at_least_", Rule::kAtLeast}, {"pass_at_", Rule::kPassAt}, {"pass_k_", Rule::kPassK}};
  for (const auto& [prefix, rule] : kOfK) {
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    std::size_t k = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), k);
    if (error != std::errc() || end != name.data() + name.size() || k == 0) return std::nullopt;
    return Reducer{rule, k};
  }
  return std::nullopt;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double one : values) sum += one;
  return sum / static_cast<double>(values.size());
}

double median(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t half = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// Of equally frequent ones the first that occurs, as Python's Counter.most_common has it.
double mode(std::span<const double> values) {
  double most = values[0];
  std::ptrdiff_t times = 0;
  for (const double one : values) {
    const std::ptrdiff_t count = std::count(values.begin(), values.end(), one);
    if (count > times) {
      most = one;
      times = count;
    }
  }
  return most;
}

// 1 − C(n − right, k) / C(n, k), and C(right, k) / C(n, k).
double share_of_draws(std::size_t good, std::size_t n, std::size_t k) {
  double share = 1;
  for (std::size_t i = 0; i < k; ++i)
    share *= good > i ? static_cast<double>(good - i) / static_cast<double>(n - i) : 0;
  return share;
}

}  // namespace

bool is_known_reducer(std::string_view name) { return reducer_of(name).has_value(); }

std::optional<double> reduced(std::string_view name, std::span<const double> values) {
  const auto reducer = reducer_of(name);
  NB_CHECK(reducer && !values.empty(), "[reduced] {} of {} values", name, values.size());
  const auto right = static_cast<std::size_t>(
      std::count_if(values.begin(), values.end(), [](double one) { return one >= 1; }));
  const std::size_t n = values.size(), k = reducer->k;
  switch (reducer->rule) {
    case Rule::kMean:
      return mean_of(values);
    case Rule::kMedian:
      return median(values);
    case Rule::kMode:
      return mode(values);
    case Rule::kMax:
      return *std::max_element(values.begin(), values.end());
    case Rule::kAtLeast:
      return right >= k ? 1 : 0;
    case Rule::kPassAt:
      if (n < k) return std::nullopt;
      return 1 - share_of_draws(n - right, n, k);
    case Rule::kPassK:
      if (n < k) return std::nullopt;
      return share_of_draws(right, n, k);
  }
  return std::nullopt;
}

}  // namespace nb
