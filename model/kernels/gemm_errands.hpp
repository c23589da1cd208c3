// What the tiles of one stage do for the next one, on their way. Internal to model/kernels.
#pragma once

#include <cstdint>

#include "model/kernels/gemm_left.hpp"
#include "model/kernels/gemm_right.hpp"

namespace nb::kernels {

// Handed to every tile.
struct Errands {
  inner::Fetch rows = {}, right = {};  // the right operand's panel, or what it is made of
  inner::Conversion conversion = {};
};

// A stage's operands: rows of the left one, of the right one what this task makes.
struct Pending {
  LeftWords words;
  PanelShare panels;

  void before_tile(std::int64_t steps, Errands& errands) {
    words.before_tile(steps, errands.rows);
    panels.before_tile(steps, errands.right, errands.conversion);
  }
  void finish(Errands& errands) {
    words.convert_all();
    panels.finish(errands.conversion);
  }
};

}  // namespace nb::kernels
