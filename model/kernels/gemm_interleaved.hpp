// What the tiles of one stage do on their way for the next one, which may be another task's.
// Internal to model/kernels.
#pragma once

#include <cstdint>

#include "model/kernels/gemm_left.hpp"
#include "model/kernels/gemm_right.hpp"

namespace nb::kernels {

// Handed to every tile.
struct Interleaved {
  inner::Fetch rows = {}, right = {};  // the right operand's panel, or what it is made of
  inner::Conversion conversion = {};
};

// A stage's operands: rows of the left one, of the right one what this task makes.
struct Pending {
  LeftWords words;
  PanelShare panels;

  void before_tile(std::int64_t steps, Interleaved& interleaved) {
    words.before_tile(steps, interleaved.rows, interleaved.conversion);
    panels.before_tile(steps, interleaved.right, interleaved.conversion);
  }
  void finish(Interleaved& interleaved) {
    words.finish(interleaved.conversion);
    panels.finish(interleaved.conversion);
  }
};

}  // namespace nb::kernels
