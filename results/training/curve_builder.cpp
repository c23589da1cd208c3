#include "results/training/curve_builder.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace nb {
namespace {
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
}

std::size_t CurveBuilder::column(std::string_view name) {
  if (const auto at = places_.find(name); at != places_.end()) return at->second;
  curve_.columns.push_back(column_named(name));
  places_.emplace(name, curve_.columns.size() - 1);
  return curve_.columns.size() - 1;
}

void CurveBuilder::set(std::size_t row, std::size_t column, double value) {
  std::vector<double>& values = curve_.columns[column].values;
  if (values.size() <= row) values.resize(row + 1, kNone);
  if (std::isnan(values[row])) values[row] = value;
}

void CurveBuilder::put(std::int64_t step, std::size_t column, double value) {
  if (!std::isfinite(value)) {
    auto& from = curve_.columns[column].not_finite_from;
    from = std::min(from.value_or(step), step);
    value = kNone;
  }
  std::vector<std::int64_t>& steps = curve_.steps;
  if (steps.empty() || step > steps.back()) steps.push_back(step);
  if (step == steps.back()) return set(steps.size() - 1, column, value);
  const auto at = std::lower_bound(steps.begin(), steps.end(), step);
  if (*at == step) return set(static_cast<std::size_t>(at - steps.begin()), column, value);
  late_.push_back({step, column, value});
}

void CurveBuilder::back_to(std::int64_t step) {
  const auto at = std::lower_bound(curve_.steps.begin(), curve_.steps.end(), step);
  const auto rows = static_cast<std::size_t>(at - curve_.steps.begin());
  curve_.steps.resize(rows);
  for (CurveColumn& column : curve_.columns) {
    if (column.values.size() > rows) column.values.resize(rows);
    if (column.not_finite_from && *column.not_finite_from >= step) column.not_finite_from.reset();
  }
  std::erase_if(late_, [&](const Late& one) { return one.step >= step; });
}

Curve CurveBuilder::finish() {
  for (CurveColumn& column : curve_.columns) column.values.resize(curve_.steps.size(), kNone);
  if (!late_.empty()) {
    std::vector<std::int64_t> steps = curve_.steps;
    for (const Late& one : late_) steps.push_back(one.step);
    std::ranges::sort(steps);
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    const auto row_of = [&](std::int64_t step) {
      return static_cast<std::size_t>(std::ranges::lower_bound(steps, step) - steps.begin());
    };
    for (CurveColumn& column : curve_.columns) {
      std::vector<double> values(steps.size(), kNone);
      for (std::size_t i = 0; i < curve_.steps.size(); ++i)
        values[row_of(curve_.steps[i])] = column.values[i];
      column.values = std::move(values);
    }
    curve_.steps = std::move(steps);
    for (const Late& one : late_) set(row_of(one.step), one.column, one.value);
  }
  std::erase_if(curve_.columns, [](const CurveColumn& column) {
    return !column.not_finite_from &&
           std::ranges::all_of(column.values, [](double v) { return std::isnan(v); });
  });
  return std::move(curve_);
}

}  // namespace nb
