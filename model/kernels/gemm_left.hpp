// The left operand of gemm.cpp: rows of words of one stage, converted unit by unit. Tiles run
// between the units and prefetch the source of the next unit. Internal to model/kernels; one
// thread.
//
// 1. The units are spread evenly over `calls` tiles. Before each tile, before_tile() starts the
//    unit that is due.
// 2. A unit is converted by tiles on their way (Conversion) where the level can, else at once.
// 3. At most one unit is in the hands of tiles; the next one starts when it is done.
// 4. finish() converts what is left. The words may be read only after it.
#pragma once

#include <cstdint>

#include "model/kernels/fetch_ahead.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/gemm_plan.hpp"

namespace nb::kernels {

// Words of a stage of the longest rows and steps.
std::size_t stage_words(std::int64_t rows, std::int64_t steps);

class LeftWords {
 public:
  LeftWords() = default;  // no units
  // k_count: of a whole chain. calls: of tiles between which the units are to be spread.
  LeftWords(const GemmFormat& format, const GemmLeft& a, std::int64_t k_count,
            const GemmStage& stage, std::int64_t calls, std::uint32_t* words);

  // Before each tile. fetch: becomes the source of the unit after the one that is due.
  void before_tile(std::int64_t steps, inner::Fetch& fetch, inner::Conversion& conversion);
  // Converts what is left.
  void finish(inner::Conversion& conversion);

 private:
  GemmStage unit(std::int64_t index) const;
  std::int64_t first_k(const GemmStage& unit) const;
  std::uint32_t* words_of(const GemmStage& unit) const;
  bool is_for_tiles(const GemmStage& unit) const;
  inner::Conversion on_the_way(const GemmStage& unit) const;
  Runs source_of(const GemmStage& unit) const;
  void pack(const GemmStage& unit) const;
  bool is_done() const { return done_ == units_; }
  const void* source(std::int64_t row, std::int64_t k) const;

  const GemmFormat* format_ = nullptr;
  GemmLeft a_ = {};
  std::int64_t k_count_ = 0;
  GemmStage stage_ = {};
  std::uint32_t* words_ = nullptr;
  std::int64_t unit_rows_ = 1, unit_steps_ = 1;
  std::int64_t units_ = 0, done_ = 0;  // done_ includes a unit
  bool is_on_way_ = false;             // that is in the hands of tiles
  std::int64_t calls_ = 0, called_ = 0;
};

}  // namespace nb::kernels
