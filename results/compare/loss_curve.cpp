#include "results/compare/loss_curve.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include "harness/base/portable_math.hpp"
#include "results/messages/sentences.hpp"
#include "results/store/metric_names.hpp"

namespace nb {
namespace {

constexpr std::size_t kFirstSteps = 10;
constexpr std::size_t kMinForNoise = 8;

// Functions of settings and data, written with every digit: the same in every step, or something
// was changed. The batch comes first: what was read explains the rest.
constexpr const char* kExact[] = {metric::kSeriesBatchHash, metric::kTokens, "grad_scale",
                                  "lr_multiplier"};
constexpr std::string_view kRatePrefix = "lr_";  // of a captured run: one per group of parameters
// The schedule is arithmetic on step numbers: a few roundings of doubles.
constexpr double kExactLimit = 1e-12;
// Of the loss. Measured in ten steps of the nightly's BASE: initial weights × 1.000001 at most
// 5e-5, another device 2e-4, the largest ever seen of another device 3e-4; weight decay on
// embeddings 9e-4, an embedding gradient cut at 1e-4 1e-3, four Newton-Schulz steps 2e-3, a
// constant momentum 4e-3. (1e-3 is the usual bound of accelerator vendors' alignment guides, across
// devices.)
constexpr const char* kRounded[] = {metric::kSeriesLoss, metric::kSeriesValBpb};
constexpr double kRoundedLimit = 5e-4;

// Samples of the model decide how many tokens a step of RL has.
bool is_rl(const Series& series) { return series.column("reward").has_value(); }

std::vector<std::string> exact_columns(const Series& series) {
  std::vector<std::string> names;
  for (const char* name : kExact)
    if (series.column(name) && !(std::string_view(name) == metric::kTokens && is_rl(series)))
      names.emplace_back(name);
  for (const std::string& name : series.columns)
    if (name.starts_with(kRatePrefix) && std::ranges::find(names, name) == names.end())
      names.push_back(name);
  return names;
}

// The objective of RL is a mean of log-probabilities, about a nat each, times advantages of both
// signs: GRPO's is 0 by construction, and what is left of it is rounding. Other losses are sums of
// positive terms, so their own size is their scale.
double scale_of(const std::string& column, const Series& series) {
  return column == metric::kSeriesLoss && is_rl(series) ? 1 : 0;
}

struct Watched {
  std::string column;
  double limit = 0;
  double scale = 0;  // at least
  std::size_t steps = 0;
};

std::optional<CurveDeparture> departure_of(const Series& a, const Series& b,
                                           const Watched& watched) {
  const auto column_a = a.column(watched.column), column_b = b.column(watched.column);
  if (!column_a || !column_b) return std::nullopt;
  const std::size_t rows = std::min({a.steps.size(), b.steps.size(), watched.steps});
  for (std::size_t row = 0; row < rows && a.steps[row] == b.steps[row]; ++row) {
    const auto &left = a.values[*column_a][row], &right = b.values[*column_b][row];
    if (!left || !right || *left == *right) continue;
    const double scale = std::max({std::fabs(*left), std::fabs(*right), watched.scale});
    const double relative = std::fabs(*right - *left) / scale;
    if (relative <= watched.limit) continue;
    const bool is_exact = watched.limit == kExactLimit;
    return CurveDeparture{watched.column, a.steps[row], *left,
                          *right,         relative,     is_exact ? 0 : watched.limit,
                          scale,          row == 0};
  }
  return std::nullopt;
}

}  // namespace

std::optional<CurveDeparture> curve_departure(const Series& a, const Series& b, bool same_start) {
  std::vector<Watched> all;
  for (std::string& name : exact_columns(a))
    all.push_back({std::move(name), kExactLimit, 0, a.steps.size()});
  if (same_start)
    for (const char* name : kRounded)
      all.push_back({name, kRoundedLimit, scale_of(name, a), kFirstSteps});
  std::optional<CurveDeparture> first;
  for (const Watched& watched : all) {
    auto found = departure_of(a, b, watched);
    if (found && (!first || found->step < first->step)) first = std::move(found);
  }
  return first;
}

Sentence departure_sentence(const CurveDeparture& d) {
  const bool first = d.before_learning;
  if (d.column == metric::kSeriesBatchHash)
    return first ? message("departure.tokens_first") : message("departure.tokens", d.step);
  const std::string change = fmt::format("{} {:.6g} → {:.6g}", d.column, d.a, d.b);
  if (d.limit == 0)
    return first ? message("departure.exact_first", change)
                 : message("departure.exact", change, d.step);
  if (d.scale > std::max(std::fabs(d.a), std::fabs(d.b))) {
    const std::string by = fmt::format("{:.2g}", d.relative * d.scale);
    const std::string limit = fmt::format("{:.2g}", d.limit * d.scale);
    return first ? message("departure.by_first", change, by, limit)
                 : message("departure.by", change, d.step, by, limit);
  }
  const std::string by = fmt::format("{:.2g}", 100 * d.relative);
  const std::string limit = fmt::format("{:.2g}", 100 * d.limit);
  return first ? message("departure.percent_first", change, by, limit)
               : message("departure.percent", change, d.step, by, limit);
}

std::optional<double> relative_step_noise(const Series& series) {
  const auto column = series.column(metric::kSeriesLoss);
  if (!column) return std::nullopt;
  std::vector<double> losses;
  for (const auto& value : series.values[*column])
    if (value) losses.push_back(*value);
  const std::size_t half = losses.size() / 2;
  if (losses.size() - half < kMinForNoise) return std::nullopt;
  double squares = 0, sum = losses[half];
  for (std::size_t i = half + 1; i < losses.size(); ++i) {
    squares += (losses[i] - losses[i - 1]) * (losses[i] - losses[i - 1]);
    sum += losses[i];
  }
  const double count = static_cast<double>(losses.size() - half);
  if (sum <= 0) return std::nullopt;
  return pm::sqrt(squares / (2 * (count - 1))) / (sum / count);
}

Result<Series> read_curve(const StoredRecord& training) {
  NB_TRY_VOID(verify_artifact(training, metric::kSeriesFile));
  return read_series(training.folder / metric::kSeriesFile);
}

}  // namespace nb
