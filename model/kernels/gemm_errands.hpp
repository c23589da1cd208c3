// What the tiles of one stage do on their way for the next one, which may be another task's.
// Internal to model/kernels.
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
    words.before_tile(steps, errands.rows, errands.conversion);
    panels.before_tile(steps, errands.right, errands.conversion);
  }
  void finish(Errands& errands) {
    words.finish(errands.conversion);
    panels.finish(errands.conversion);
  }
};

}  // namespace nb::kernels
