#include "results/stats/change_points.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "harness/base/check.hpp"
#include "harness/base/portable_math.hpp"
#include "results/stats/stats.hpp"

namespace nb {
namespace {

using Values = std::span<const double>;

constexpr double kChance = 2;             // standard errors of a correlation, about 1/√n each
constexpr double kMaxCorrelation = 0.95;  // beyond it a level is no more than a walk

// Number, mean and squared deviations of a level, one of its values left out.
struct Level {
  double n = 0, mean = 0, squares = 0;
};
// origin: some value of the series. Equal values then have no rounding error, so a series without
// noise has no spread.
Level level_of(Values values, double origin, std::optional<std::size_t> without = {}) {
  Level level;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == without) continue;
    level.n += 1;
    level.mean += values[i] - origin;
  }
  level.mean /= level.n;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == without) continue;
    const double off = values[i] - origin - level.mean;
    level.squares += off * off;
  }
  return level;
}

// Variance of the mean of n neighbours, each of variance 1, whose correlation is phi to the power
// of their distance.
double mean_variance(double n, double phi) {
  if (phi <= 0) return 1 / n;
  const double rest = 1 - phi;
  return (1 + phi) / rest / n - 2 * phi * (1 - pm::pow(phi, n)) / (n * n * rest * rest);
}

// Sums of squared differences of values one and two nights apart, within levels: a change of level
// and a drift of the mean within it are not in them.
struct Neighbours {
  double one = 0, two = 0;  // squares
  double pairs_one = 0, pairs_two = 0, values = 0;
  void add(Values level) {
    values += static_cast<double>(level.size());
    for (std::size_t i = 1; i < level.size(); ++i) {
      one += (level[i] - level[i - 1]) * (level[i] - level[i - 1]);
      ++pairs_one;
      if (i < 2) continue;
      two += (level[i] - level[i - 2]) * (level[i] - level[i - 2]);
      ++pairs_two;
    }
  }
};

// Correlation of neighbouring nights (AR(1): differences two nights apart are 1 + phi times as
// large in variance as those of one night), 0 unless it is beyond chance: independent nights keep
// their power.
double correlation_of(const Neighbours& n) {
  if (n.one <= 0 || n.pairs_two == 0) return 0;
  const double phi = (n.two / n.pairs_two) / (n.one / n.pairs_one) - 1;
  return phi <= kChance / pm::sqrt(n.values) ? 0 : std::min(kMaxCorrelation, phi);
}

// Student's t test with one variance for both levels: Welch's has too few degrees of freedom for
// the first nights of a new level.
double p_of(const Level& a, const Level& b, double phi) {
  const double difference = b.mean - a.mean;
  if (difference == 0) return 1;
  const double of_a = mean_variance(a.n, phi), of_b = mean_variance(b.n, phi);
  const double variance = (a.squares + b.squares) / (a.n * (1 - of_a) + b.n * (1 - of_b));
  const double df = std::max(1.0, (a.n + b.n - 2) * (1 - phi) / (1 + phi));
  const double error = pm::sqrt(variance * (of_a + of_b));
  return error > 0 ? std::min(1.0, 2 * student_t_cdf(-std::fabs(difference / error), df)) : 0;
}

double largest_p(Values left, Values right, double phi) {
  const double origin = left.front();
  const Level whole_left = level_of(left, origin), whole_right = level_of(right, origin);
  double p = p_of(whole_left, whole_right, phi);
  for (std::size_t i = 0; i < left.size(); ++i)
    p = std::max(p, p_of(level_of(left, origin, i), whole_right, phi));
  for (std::size_t i = 0; i < right.size(); ++i)
    p = std::max(p, p_of(whole_left, level_of(right, origin, i), phi));
  return p;
}

double distances_within(Values values) {
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    for (std::size_t k = i + 1; k < values.size(); ++k) sum += std::fabs(values[i] - values[k]);
  return sum;
}

// nm/(n + m) times the energy distance of two samples, of at least 2 values each.
double energy(Values left, Values right) {
  const auto n = static_cast<double>(left.size()), m = static_cast<double>(right.size());
  double between = 0;
  for (const double a : left)
    for (const double b : right) between += std::fabs(a - b);
  return n * m / (n + m) *
         (2 / (n * m) * between - distances_within(left) / (n * (n - 1) / 2) -
          distances_within(right) / (m * (m - 1) / 2));
}

// Splits [begin, end) where the energy is largest, if that is significant, and then both parts.
void split(Values values, std::size_t begin, std::size_t end, std::size_t min_segment, double p,
           std::vector<std::size_t>& found) {
  if (end - begin < 2 * min_segment) return;
  std::size_t best = 0;
  double best_energy = 0;
  for (std::size_t at = begin + min_segment; at + min_segment <= end; ++at) {
    const double here = energy(values.subspan(begin, at - begin), values.subspan(at, end - at));
    if (here > best_energy) {
      best_energy = here;
      best = at;
    }
  }
  if (best == 0) return;
  const Values left = values.subspan(begin, best - begin), right = values.subspan(best, end - best);
  Neighbours neighbours;
  neighbours.add(left);
  neighbours.add(right);
  if (largest_p(left, right, correlation_of(neighbours)) >= p) return;
  split(values, begin, best, min_segment, p, found);
  found.push_back(best);
  split(values, best, end, min_segment, p, found);
}

// Candidates at ten times the p, by windows that overlap by half where they hold none.
std::vector<std::size_t> candidates(Values values, const ChangePointOptions& options) {
  std::vector<std::size_t> found;
  for (std::size_t begin = 0; begin < values.size();) {
    const std::size_t end = std::min(values.size(), begin + options.window);
    const std::size_t before = found.size();
    split(values, begin, end, options.min_segment, std::min(1.0, 10 * options.p), found);
    begin += options.window / 2;
    if (found.size() > before) begin = std::max(begin, found.back());
  }
  return found;
}

// Over all levels that these points make.
double correlation_of(Values values, const std::vector<std::size_t>& points) {
  Neighbours neighbours;
  std::size_t begin = 0;
  for (const std::size_t at : points) {
    neighbours.add(values.subspan(begin, at - begin));
    begin = at;
  }
  neighbours.add(values.subspan(begin));
  return correlation_of(neighbours);
}

ChangePoint point_at(Values values, std::size_t begin, std::size_t at, std::size_t end,
                     double phi) {
  const Values left = values.subspan(begin, at - begin), right = values.subspan(at, end - at);
  const double origin = left.front();
  return {at, origin + level_of(left, origin).mean, origin + level_of(right, origin).mean,
          largest_p(left, right, phi)};
}

double size_of(const ChangePoint& point) { return std::fabs(point.after - point.before); }

}  // namespace

std::vector<ChangePoint> change_points(Values values, const ChangePointOptions& options) {
  NB_CHECK(options.min_segment >= 3 && options.window >= 2 * options.min_segment,
           "[change points] segments of {} in windows of {}", options.min_segment, options.window);
  std::vector<std::size_t> at = candidates(values, options);
  std::vector<ChangePoint> points(at.size());
  // The weakest goes, its neighbours' levels grow, and so on until all that are left hold.
  while (!points.empty()) {
    const double phi = correlation_of(values, at);
    for (std::size_t i = 0; i < at.size(); ++i)
      points[i] = point_at(values, i == 0 ? 0 : at[i - 1], at[i],
                           i + 1 == at.size() ? values.size() : at[i + 1], phi);
    auto weakest = std::max_element(points.begin(), points.end(),
                                    [](const auto& a, const auto& b) { return a.p < b.p; });
    if (weakest->p < options.p) {
      weakest = std::min_element(points.begin(), points.end(), [](const auto& a, const auto& b) {
        return size_of(a) < size_of(b);
      });
      if (size_of(*weakest) >= options.min_change) break;
    }
    const auto index = static_cast<std::size_t>(weakest - points.begin());
    points.erase(weakest);
    at.erase(at.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return points;
}

}  // namespace nb
