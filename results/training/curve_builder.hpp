// Numbers of a log in the order in which they come → a Curve. Most come by rising steps; what comes
// later for an earlier step finds its row.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "results/store/curve_columns.hpp"

namespace nb {

class CurveBuilder {
 public:
  // The column of that name, made on first use.
  std::size_t column(std::string_view name);
  // The first value of a step and column stays (ranks print the same line). One that is not finite
  // is remembered as the step from which the column broke.
  void put(std::int64_t step, std::size_t column, double value);
  void put(std::int64_t step, std::string_view name, double value) {
    put(step, column(name), value);
  }
  // The training went on from an earlier checkpoint: rows from this step on are dropped.
  void back_to(std::int64_t step);
  bool empty() const { return curve_.steps.empty(); }
  const std::vector<std::int64_t>& steps() const { return curve_.steps; }  // without late ones
  std::int64_t last_step() const { return empty() ? -1 : curve_.steps.back(); }
  // Ends the builder. Columns without a value are left out.
  Curve finish();

 private:
  struct Late {
    std::int64_t step;
    std::size_t column;
    double value;
  };
  void set(std::size_t row, std::size_t column, double value);

  Curve curve_;
  std::map<std::string, std::size_t, std::less<>> places_;  // of columns
  std::vector<Late> late_;                                  // of steps between those that there are
};

}  // namespace nb
