// What the tiles of one stage do on their way for the next stage, which may be another task's.
// Internal to model/kernels; one thread.
#pragma once

#include <cstdint>

#include "model/kernels/gemm_left.hpp"
#include "model/kernels/gemm_right.hpp"

namespace nb::kernels {

// Handed to every tile.
struct Interleaved {
  inner::Fetch rows = {};             // source of the next stage's words
  inner::Fetch right = {};            // the right operand's next panel, or what it is made of
  inner::Conversion conversion = {};  // of words of either operand
};

// The operands of the next stage, made a little at a time: rows of the left one and, where threads
// make the panels, this task's share of the right one.
struct NextStage {
  LeftWords words;
  PanelShare panels;

  // Starts what is due before a tile of so many steps.
  void before_tile(std::int64_t steps, Interleaved& interleaved) {
    words.before_tile(steps, interleaved.rows, interleaved.conversion);
    panels.before_tile(steps, interleaved.right, interleaved.conversion);
  }
  // Makes what is left.
  void finish(Interleaved& interleaved) {
    words.finish(interleaved.conversion);
    panels.finish(interleaved.conversion);
  }
};

}  // namespace nb::kernels
