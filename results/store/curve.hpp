// What a training states step by step, whoever trained: columns of numbers over rising steps, each
// with what it is. A plain value; read by results/training, compared by curve_comparison.hpp, on
// disk a steps.csv (series.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/store/record.hpp"

namespace nb {

struct CurveColumn {
  std::string name;  // of curve_columns.hpp where it is one of them, else as the source calls it
  std::string unit;  // "nat", "tok/s"; empty: not known
  Direction direction = Direction::kNone;  // kNone: neither way is better, or not known
  Clock clock = Clock::kNone;              // kDevice: speed and memory
  std::vector<double> values;              // one per step; NaN: not stated at that step
  // The first step whose value the source states as nan or inf: a loss that broke. Nothing: none.
  std::optional<std::int64_t> not_finite_from = {};
};

struct Curve {
  std::vector<std::int64_t> steps;  // rising strictly
  std::vector<CurveColumn> columns;
  bool empty() const { return steps.empty(); }
  const CurveColumn* find(std::string_view name) const {  // nullptr: none
    for (const CurveColumn& column : columns)
      if (column.name == name) return &column;
    return nullptr;
  }
};

}  // namespace nb
