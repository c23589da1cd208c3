// The arithmetic of results/compare/factorial.hpp.
#include <algorithm>
#include <bit>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "results/compare/factorial.hpp"

namespace nb {
namespace {

using Levels = std::vector<std::vector<bool>>;

constexpr std::string_view kLetters = "ABCDEFGHJKLM";

// A sum of configurations' means with a weight each: its value, and its variance in units of one
// training's.
struct Contrast {
  std::vector<double> weights;
  double value = 0;
  double variance = 0;
};

Contrast contrast(std::vector<double> weights, const std::vector<double>& configurations,
                  double seeds) {
  Contrast c{std::move(weights), 0, 0};
  for (std::size_t a = 0; a < configurations.size(); ++a) {
    c.value += c.weights[a] * configurations[a];
    c.variance += c.weights[a] * c.weights[a] / seeds;
  }
  return c;
}

// Of a/b by Fieller: all ratios r for which a − r·b is within t standard errors of 0.
std::optional<Interval> ratio_interval(const Contrast& a, const Contrast& b, double seeds,
                                       double t2_variance) {
  double covariance = 0;
  for (std::size_t i = 0; i < a.weights.size(); ++i)
    covariance += a.weights[i] * b.weights[i] / seeds;
  const double square = b.value * b.value - t2_variance * b.variance;
  if (square <= 0) return std::nullopt;  // b may be 0
  const double linear = a.value * b.value - t2_variance * covariance;
  const double constant = a.value * a.value - t2_variance * a.variance;
  const double root = pm::sqrt(std::max(0.0, linear * linear - square * constant));
  return Interval{(linear - root) / square, (linear + root) / square};
}

// What configurations and seeds leave: squares of it over its degrees of freedom.
double residual_variance(const std::vector<std::vector<double>>& values,
                         const std::vector<double>& configurations, double df) {
  const std::size_t seeds = values[0].size();
  const double grand = mean(configurations);
  double squares = 0;
  for (std::size_t s = 0; s < seeds; ++s) {
    double of_seed = 0;
    for (const auto& configuration : values) of_seed += configuration[s];
    of_seed /= static_cast<double>(values.size());
    for (std::size_t a = 0; a < values.size(); ++a) {
      const double rest = values[a][s] - configurations[a] - of_seed + grand;
      squares += rest * rest;
    }
  }
  return squares / df;
}

std::string letters_of(std::size_t set) {
  std::string letters;
  for (std::size_t i = 0; i < kLetters.size(); ++i)
    if (((set >> i) & 1) != 0) letters += kLetters[i];
  return letters;
}

// Is the product of these factors the same in all configurations? low is −1.
bool is_constant(const Levels& levels, std::size_t set) {
  const auto is_negative = [&](const std::vector<bool>& configuration) {
    bool odd = false;
    for (std::size_t i = 0; i < configuration.size(); ++i)
      if (((set >> i) & 1) != 0 && !configuration[i]) odd = !odd;
    return odd;
  };
  return std::all_of(levels.begin(), levels.end(), [&](const std::vector<bool>& configuration) {
    return is_negative(configuration) == is_negative(levels[0]);
  });
}

std::vector<std::size_t> words_of(const Levels& levels) {
  std::vector<std::size_t> words;
  for (std::size_t set = 1; set < (std::size_t{1} << levels[0].size()); ++set)
    if (is_constant(levels, set)) words.push_back(set);
  return words;
}

// As letters, the shortest first, then by the alphabet.
std::vector<std::string> sorted_letters(const std::vector<std::size_t>& sets) {
  std::vector<std::string> words;
  for (const std::size_t set : sets) words.push_back(letters_of(set));
  std::ranges::sort(words, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  return words;
}

}  // namespace

bool is_balanced(const Levels& levels) {
  if (levels.size() < 2 || levels[0].empty()) return false;
  const auto all = [](const std::vector<bool>& configuration, bool level) {
    return std::all_of(configuration.begin(), configuration.end(),
                       [&](bool one) { return one == level; });
  };
  if (!all(levels.front(), false) || !all(levels.back(), true)) return false;
  const auto high = [&](auto holds) {
    return 2 * std::count_if(levels.begin(), levels.end(), holds) == std::ssize(levels);
  };
  for (std::size_t i = 0; i < levels[0].size(); ++i) {
    if (!high([&](const auto& configuration) { return configuration[i]; })) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (!high([&](const auto& configuration) { return configuration[i] == configuration[j]; }))
        return false;
  }
  return true;
}

AliasStructure alias_structure(const Levels& levels) {
  AliasStructure aliases;
  const std::size_t factors = levels[0].size();
  NB_CHECK(factors <= kLetters.size(), "[factorial] {} factors", factors);
  const std::vector<std::size_t> words = words_of(levels);
  aliases.words = sorted_letters(words);
  if (!words.empty()) aliases.resolution = aliases.words.front().size();
  for (std::size_t i = 0; i < factors; ++i) {
    const std::size_t one = std::size_t{1} << i;
    std::vector<std::size_t> others;
    for (const std::size_t word : words) others.push_back(word ^ one);
    std::vector<std::string> fewest = sorted_letters(others);
    std::erase_if(fewest, [n = fewest.empty() ? 0 : fewest.front().size()](const auto& word) {
      return word.size() > n;
    });
    aliases.of_factor.push_back(std::move(fewest));
  }
  std::vector<std::size_t> seen;
  for (std::size_t i = 0; i < factors; ++i)
    for (std::size_t j = i + 1; j < factors; ++j) {
      const std::size_t pair = (std::size_t{1} << i) | (std::size_t{1} << j);
      if (std::ranges::find(seen, pair) != seen.end()) continue;
      std::vector<std::string> group = {letters_of(pair)};
      for (const std::size_t word : words)
        if (std::popcount(word ^ pair) == 2) {
          seen.push_back(word ^ pair);
          group.push_back(letters_of(word ^ pair));
        }
      if (group.size() > 1) aliases.pairs.push_back(std::move(group));
    }
  return aliases;
}

EffectTable main_effects(const Levels& levels, const std::vector<std::vector<double>>& values) {
  NB_CHECK(is_balanced(levels) && values.size() == levels.size() && !values[0].empty(),
           "[factorial] {} configurations, values of {}", levels.size(), values.size());
  const auto count = static_cast<double>(levels.size());
  const auto seeds = static_cast<double>(values[0].size());
  std::vector<double> configurations;
  for (const auto& configuration : values) {
    NB_CHECK(configuration.size() == values[0].size(), "[factorial] {} and {} seeds",
             configuration.size(), values[0].size());
    configurations.push_back(mean(configuration));
  }
  EffectTable table;
  table.low = configurations.front();
  table.high = configurations.back();
  table.df = (count - 1) * (seeds - 1);
  const double variance = table.df > 0 ? residual_variance(values, configurations, table.df) : 0;
  table.sd = pm::sqrt(variance);
  const double t = table.df > 0 ? student_t_quantile(.975, table.df) : 0;

  std::vector<double> of_gap(levels.size()), of_rest(levels.size());
  of_gap.front() = of_rest.front() = -1;
  of_gap.back() = of_rest.back() = 1;
  const Contrast gap = contrast(of_gap, configurations, seeds);
  const auto estimate = [&](const Contrast& c) {
    EffectEstimate one{c.value, {}, {}, {}};
    if (gap.value != 0) one.share = c.value / gap.value;
    if (table.df == 0) return one;
    const double half = t * pm::sqrt(variance * c.variance);
    one.interval95 = Interval{c.value - half, c.value + half};
    one.share95 = ratio_interval(c, gap, seeds, t * t * variance);
    return one;
  };
  table.gap = estimate(gap);
  if (table.gap.share) table.gap.share95 = Interval{1, 1};
  for (std::size_t i = 0; i < levels[0].size(); ++i) {
    std::vector<double> weights;
    for (std::size_t a = 0; a < levels.size(); ++a) {
      weights.push_back((levels[a][i] ? 2 : -2) / count);
      of_rest[a] -= weights.back();
    }
    table.effects.push_back(estimate(contrast(std::move(weights), configurations, seeds)));
  }
  table.rest = estimate(contrast(of_rest, configurations, seeds));
  return table;
}

}  // namespace nb
