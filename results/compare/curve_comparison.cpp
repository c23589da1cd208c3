#include "results/compare/curve_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/base/portable_math.hpp"
#include "results/compare/curve_noise.hpp"
#include "results/compare/gross_change.hpp"
#include "results/messages/sentences.hpp"
#include "results/stats/stats.hpp"
#include "results/stats/stats_correlated.hpp"
#include "results/store/curve_columns.hpp"

namespace nb {
namespace {

constexpr double kSqrt2 = 1.4142135623730951;
// As for retrained models: rule 8 of README.md.
constexpr double kDeviations = 5;
// What bf16 makes of a loss on the same data (the bound of loss_curve.cpp), of its value and at
// least of one unit: a loss that is zero by construction has no relative scale.
constexpr double kRounding = 1e-3;
constexpr std::size_t kFewPoints = 8;  // too few to measure noise well
// With few points: what is a gross change all the same, of the value.
constexpr double kGross = .1;
// Limits, for a difference that is gone at the end: of many windows one is always the largest.
constexpr double kPassing = 2;
// What is steady: nearly all points on one side, the mean beyond chance, beyond rounding and so
// many standard deviations of the differences from zero. Of fewer points chance is not known well.
constexpr double kSameSide = .95, kSteadyAlpha = .005, kSteadyDeviations = 2.5;
constexpr std::size_t kSteadyPoints = 48;
constexpr double kApart = 3;         // SD of a difference of single points
constexpr std::size_t kWarmUp = 10;  // steps that compile and warm up

struct Point {
  std::int64_t at;  // step, tokens or samples
  double a, b;
};
using Points = std::vector<Point>;

std::vector<double> part_of(const Points& points, double (*value)(const Point&),
                            std::size_t first = 0) {
  std::vector<double> values;
  values.reserve(points.size() - std::min(first, points.size()));
  for (std::size_t i = first; i < points.size(); ++i) values.push_back(value(points[i]));
  return values;
}
double value_a(const Point& point) { return point.a; }
double value_b(const Point& point) { return point.b; }
double difference(const Point& point) { return point.b - point.a; }

// Rows of both curves that have the same step.
std::vector<std::pair<std::size_t, std::size_t>> common_rows(const Curve& a, const Curve& b) {
  std::vector<std::pair<std::size_t, std::size_t>> rows;
  for (std::size_t i = 0, j = 0; i < a.steps.size() && j < b.steps.size();) {
    if (a.steps[i] == b.steps[j])
      rows.emplace_back(i++, j++);
    else if (a.steps[i] < b.steps[j])
      ++i;
    else
      ++j;
  }
  return rows;
}

// What a step has, from a column that counts since the start; nothing where that is not known. Some
// trainers call the tokens of each step so: they do not rise.
std::optional<double> per_step(const Curve& curve, std::string_view name) {
  const CurveColumn* column = curve.find(name);
  if (column == nullptr) return std::nullopt;
  double before = -1;
  for (const double value : column->values) {
    if (!std::isfinite(value)) continue;
    if (value <= before) return std::nullopt;
    before = value;
  }
  for (std::size_t row = curve.steps.size(); row-- > 0;)
    if (std::isfinite(column->values[row]) && curve.steps[row] > 0 && column->values[row] > 0)
      return column->values[row] / static_cast<double>(curve.steps[row]);
  return std::nullopt;
}

struct Alignment {
  std::string by;  // "step" or the column that both are laid over
  Sentence why;
};

Alignment alignment_of(const Curve& a, const Curve& b) {
  constexpr double kSameBatch = .02;  // batches of equal size, counted to the last step or before
  for (const std::string_view name : {column::kTokens, column::kSamples}) {
    const auto left = per_step(a, name), right = per_step(b, name);
    if (!left || !right) continue;
    if (std::fabs(*left - *right) <= kSameBatch * std::max(*left, *right)) return {"step", {}};
    return {std::string(name), message("curve.other_batches", fmt::format("{:.6g}", *left), name,
                                       fmt::format("{:.6g}", *right))};
  }
  return {"step", {}};
}

// B's values between its points, at A's counts.
Points laid_over(const Curve& a, const Curve& b, const std::string& count, const CurveColumn& left,
                 const CurveColumn& right) {
  const auto counted = [&](const Curve& curve, const CurveColumn& values) {
    std::vector<std::pair<double, double>> known;
    const CurveColumn& counts = *curve.find(count);
    for (std::size_t row = 0; row < curve.steps.size(); ++row)
      if (std::isfinite(counts.values[row]) && std::isfinite(values.values[row]) &&
          (known.empty() || counts.values[row] > known.back().first))
        known.emplace_back(counts.values[row], values.values[row]);
    return known;
  };
  const auto of_a = counted(a, left), of_b = counted(b, right);
  Points points;
  std::size_t j = 0;
  for (const auto& [at, value] : of_a) {
    while (j + 1 < of_b.size() && of_b[j + 1].first <= at) ++j;
    if (j >= of_b.size() || of_b[j].first > at) continue;
    if (of_b[j].first == at) {
      points.push_back({std::llround(at), value, of_b[j].second});
    } else if (j + 1 < of_b.size()) {
      const double share = (at - of_b[j].first) / (of_b[j + 1].first - of_b[j].first);
      points.push_back({std::llround(at), value,
                        of_b[j].second + share * (of_b[j + 1].second - of_b[j].second)});
    }
  }
  return points;
}

CurveEnd end_of(const Points& points, double (*value)(const Point&), Direction direction) {
  CurveEnd end;
  end.last = end.best = value(points.back());
  end.best_at = points.back().at;
  for (const Point& point : points) {
    const double v = value(point);
    if (direction == Direction::kHigher ? v > end.best : v < end.best) {
      end.best = v;
      end.best_at = point.at;
    }
  }
  return end;
}

// Of one side alone, where the two have no point in common.
CurveEnd own_end(const Curve& curve, const CurveColumn& column) {
  Points points;
  for (std::size_t row = 0; row < curve.steps.size(); ++row)
    if (std::isfinite(column.values[row]))
      points.push_back({curve.steps[row], column.values[row], column.values[row]});
  return points.empty() ? CurveEnd{} : end_of(points, value_a, column.direction);
}

CurveWindow window_of(const Points& points, std::size_t begin, std::size_t size) {
  const Points part(points.begin() + static_cast<std::ptrdiff_t>(begin),
                    points.begin() + static_cast<std::ptrdiff_t>(begin + size));
  return {part.front().at, part.back().at, median(part_of(part, value_a)),
          median(part_of(part, value_b)), median(part_of(part, difference))};
}

// Points of a window: a twentieth of the curve.
std::size_t window_size(std::size_t points) {
  if (points < kFewPoints) return 1;
  return std::clamp<std::size_t>(points / 20, 3, 201) | 1;
}

// The largest lasting difference. The first quarter is left out: there a loss falls so fast that a
// few steps' delay are a large difference, which says nothing of the result.
CurveWindow largest_of(const Points& points, std::size_t size) {
  const std::size_t first = points.size() < kFewPoints ? 0 : points.size() / 4;
  const std::size_t stride = std::max<std::size_t>(1, size / 4);
  CurveWindow largest = window_of(points, points.size() - size, size);
  for (std::size_t begin = first; begin + size <= points.size(); begin += stride) {
    const CurveWindow window = window_of(points, begin, size);
    if (std::fabs(window.difference) > std::fabs(largest.difference)) largest = window;
  }
  return largest;
}

struct Noise {
  double sd = 0;        // of a difference of two points; an upper limit
  double measured = 0;  // the same without the allowance for few points
  Sentence basis;
};

// Noise of A's points about their trend, of the differences' own wandering, and, for what is
// measured now and then, of the training loss, relative.
Noise noise_of(const Points& points, std::size_t equal, std::optional<double> relative) {
  const auto differences = part_of(points, difference, equal);
  const auto base = part_of(points, value_a, points.size() / 2);
  const double own = noise_at_lag(base, 1), apart = wandering_noise(differences);
  Noise noise;
  noise.measured = std::max(kSqrt2 * own, apart);
  noise.sd =
      std::max(noise_upper80(kSqrt2 * own, base.size()), noise_upper80(apart, differences.size()));
  noise.basis =
      apart >= kSqrt2 * own ? message("limit.of_difference") : message("limit.of_baseline");
  if (relative) {
    const double of_loss = kSqrt2 * *relative * std::fabs(points.back().a);
    if (of_loss > noise.sd) {
      noise.sd = noise.measured = of_loss;
      noise.basis = message("limit.of_loss", fmt::format("{:.2g}", 100 * *relative));
    }
  }
  return noise;
}

void set_limit(ColumnComparison& column, const Points& points, const Noise& noise) {
  const double value = std::fabs(points.back().a);
  const double unit =
      std::max(printed_unit(part_of(points, value_a)), printed_unit(part_of(points, value_b)));
  const double floor = std::max(rounding_floor(value), 2 * unit);
  column.limit = kDeviations * noise.sd;
  column.basis = message("limit.deviations", fmt::format("{:.0f}", kDeviations), noise.basis);
  const bool is_measured = points.size() - column.equal_points >= 3;
  const double gross = std::max(kGross * value, kDeviations * noise.measured);
  if (!is_measured || (points.size() < kFewPoints && gross < column.limit)) {
    column.limit = gross;
    column.basis = message("limit.few_points", fmt::format("{:.0f}", 100 * kGross), points.size());
  }
  if (column.limit >= floor) return;
  column.limit = floor;
  column.basis = floor > 2 * unit ? message("limit.rounding") : message("limit.digit");
}

// Whatever the noise of single steps: a gross change in each of the last four eighths, always to
// the same side. Its bound; empty: it is none.
Sentence lasting_gross_change(const Points& points, std::string_view unit) {
  if (points.size() < 2 * kFewPoints) return {};
  const std::size_t size = points.size() / 8;
  Sentence bound;
  double last = 0;
  for (std::size_t part = 1; part <= 4; ++part) {
    const CurveWindow window = window_of(points, points.size() - part * size, size);
    const auto gross = gross_change(window.a, window.b, unit, false);
    if (!gross || !gross->is_beyond || window.difference * last < 0) return {};
    last = window.difference;
    bound = gross->bound;
  }
  return bound;
}

// From where the differences are all beyond `limit` on one side; nothing: the last is not.
std::optional<std::size_t> beyond_from(const std::vector<double>& differences, double limit) {
  std::size_t from = differences.size();
  while (from > 0 && std::fabs(differences[from - 1]) > limit &&
         (differences[from - 1] > 0) == (differences.back() > 0))
    --from;
  if (from == differences.size()) return std::nullopt;
  return from;
}

// Each value becomes the median of itself and its neighbours: one step back is no reunion.
std::vector<double> smoothed(const std::vector<double>& values) {
  if (values.size() < kFewPoints) return values;
  std::vector<double> result = values;
  for (std::size_t i = 1; i + 1 < values.size(); ++i)
    result[i] = std::max(std::min(values[i - 1], values[i]),
                         std::min(std::max(values[i - 1], values[i]), values[i + 1]));
  return result;
}

std::optional<SteadySide> steady_side(const Points& points, std::size_t equal) {
  if (points.size() < kSteadyPoints) return std::nullopt;
  const auto differences = part_of(points, difference, std::max(equal, points.size() / 4));
  const auto test = correlated_mean(differences);
  if (!test || test->p_two_sided > kSteadyAlpha ||
      std::fabs(test->difference) < kSteadyDeviations * sample_sd(differences))
    return std::nullopt;
  SteadySide side{differences.size(), 0, test->difference, test->interval95};
  for (const double value : differences) side.same_side += value * side.mean > 0 ? 1 : 0;
  const double least = std::min(std::fabs(side.interval95.low), std::fabs(side.interval95.high));
  if (static_cast<double>(side.same_side) < kSameSide * static_cast<double>(side.points) ||
      side.interval95.low * side.interval95.high <= 0 || least <= rounding_floor(points.back().a))
    return std::nullopt;
  return side;
}

void compare_values(ColumnComparison& column, const Points& points,
                    std::optional<double> relative) {
  while (column.equal_points < points.size() &&
         points[column.equal_points].a == points[column.equal_points].b)
    ++column.equal_points;
  if (column.equal_points > 0) column.last_equal = points[column.equal_points - 1].at;
  const std::size_t size = window_size(points.size());
  column.last = window_of(points, points.size() - size, size);
  column.largest = largest_of(points, size);
  if (column.equal_points == points.size()) return;
  const Noise noise = noise_of(points, column.equal_points, relative);
  set_limit(column, points, noise);
  const auto differences = part_of(points, difference);
  if (const auto from = beyond_from(differences, 0)) column.one_sided_from = points[*from].at;
  if (const auto from = beyond_from(smoothed(differences), kApart / kDeviations * column.limit))
    column.apart_from = points[std::max(*from, column.equal_points)].at;
  if (column.direction == Direction::kNone) return;
  const double sign = column.direction == Direction::kLower ? -1 : 1;
  const bool turned = points.size() < kFewPoints && points.size() > 1 &&
                      differences.back() * differences[differences.size() - 2] < 0;
  const double gain = turned ? 0 : sign * column.last->difference;
  column.worse = gain < -column.limit;
  column.better = gain > column.limit;
  if (!column.worse && !column.better) {
    if (const Sentence bound = lasting_gross_change(points, column.unit); !bound.empty()) {
      column.limit = std::min(column.limit, kGross * std::fabs(column.last->a));
      column.basis = message("limit.lasting", bound);
      (sign * window_of(points, points.size() / 2, points.size() - points.size() / 2).difference < 0
           ? column.worse
           : column.better) = true;
    }
  }
  column.was_worse = !column.worse && points.size() >= kFewPoints &&
                     sign * column.largest->difference < -kPassing * column.limit;
  if (!column.worse && !column.better) column.steady = steady_side(points, column.equal_points);
}

void compare_exactly(ColumnComparison& column, const Points& points) {
  column.is_exact = true;
  // Releases print a rate with more or fewer digits; three at least.
  const int digits = std::max(3, std::min(significant_digits(part_of(points, value_a)),
                                          significant_digits(part_of(points, value_b))));
  for (const Point& point : points) {
    if (equal_to_digits(point.a, point.b, digits)) continue;
    if (column.differing_points++ > 0) continue;
    column.differs_at = point.at;
    column.exact_a = point.a;
    column.exact_b = point.b;
  }
}

// Whole columns, each with its own steps: a rate does not depend on what the other side did.
void compare_clocks(ColumnComparison& column, const CurveColumn& a, const CurveColumn& b) {
  const auto typical = [&](const CurveColumn& one) {
    std::vector<double> values;
    for (const double value : one.values)
      if (std::isfinite(value)) values.push_back(value);
    if (column.name == column::kMemory) return std::ranges::max(values);
    if (values.size() > kWarmUp + 2)
      values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(kWarmUp));
    column.typical_points = values.size();
    return median(std::move(values));
  };
  column.typical_a = typical(a);
  column.typical_b = typical(b);
}

bool has_values(const CurveColumn& column) {
  return std::ranges::any_of(column.values, [](double value) { return std::isfinite(value); });
}

bool is_now_and_then(const ColumnComparison& column) {
  return column.name.starts_with("val_") || column.name == "test_loss";
}

}  // namespace

const ColumnComparison* CurveComparison::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &ColumnComparison::name);
  return found == columns.end() ? nullptr : &*found;
}

std::optional<double> relative_noise(const Curve& curve) {
  const CurveColumn* loss = curve.find(column::kTrainLoss);
  if (loss == nullptr) return std::nullopt;
  std::vector<double> values;
  for (const double value : loss->values)
    if (std::isfinite(value)) values.push_back(value);
  values.erase(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  if (values.size() < kFewPoints) return std::nullopt;
  const double size = std::fabs(median(values));
  if (!(size > 0)) return std::nullopt;
  return noise_upper80(noise_at_lag(values, 1), values.size()) / size;
}

double rounding_floor(double value) { return kRounding * std::max(1.0, std::fabs(value)); }

CurveComparison compare_curves(const Curve& a, const Curve& b) {
  CurveComparison result;
  const Alignment alignment = alignment_of(a, b);
  const auto rows = common_rows(a, b);
  result.aligned_by = alignment.by;
  result.why_not_by_step = alignment.why;
  result.points = rows.size();
  result.steps_a = a.steps.size();
  result.steps_b = b.steps.size();
  if (!rows.empty()) {
    result.from = a.steps[rows.front().first];
    result.to = a.steps[rows.back().first];
  }
  const auto relative = relative_noise(a);
  for (const CurveColumn& left : a.columns) {
    const CurveColumn* right = b.find(left.name);
    if (right == nullptr) {
      result.only_a.push_back(left.name);
      continue;
    }
    const KnownColumn* known = known_column(left.name);
    ColumnComparison column;
    column.name = left.name;
    column.unit = left.unit;
    column.direction = left.direction;
    column.clock = left.clock;
    column.broken_a = left.not_finite_from;
    column.broken_b = right->not_finite_from;
    const bool is_exact = known != nullptr && known->exact;
    Points points;
    if (alignment.by == "step" || is_exact) {
      for (const auto& [i, j] : rows)
        if (std::isfinite(left.values[i]) && std::isfinite(right->values[j]))
          points.push_back({a.steps[i], left.values[i], right->values[j]});
    } else {
      points = laid_over(a, b, alignment.by, left, *right);
    }
    column.points = points.size();
    if (column.clock != Clock::kNone) {
      if (!has_values(left) || !has_values(*right)) continue;
      compare_clocks(column, left, *right);
    } else if (points.empty()) {
      column.end_a = own_end(a, left);
      column.end_b = own_end(b, *right);
    } else {
      column.end_a = end_of(points, value_a, column.direction);
      column.end_b = end_of(points, value_b, column.direction);
      if (is_exact)
        compare_exactly(column, points);
      else
        compare_values(column, points, is_now_and_then(column) ? relative : std::nullopt);
    }
    if (column.direction != Direction::kNone && column.broken_b &&
        (!column.broken_a || *column.broken_b < *column.broken_a))
      column.worse = true;
    result.columns.push_back(std::move(column));
  }
  for (const CurveColumn& right : b.columns)
    if (a.find(right.name) == nullptr) result.only_b.push_back(right.name);
  return result;
}

}  // namespace nb
