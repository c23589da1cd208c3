// The left operand of gemm.cpp as rows of words, converted a little at a time, so that tiles which
// run in between have fetched what comes next. Internal to model/kernels.
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

  // Before each tile: gives it what is due, or converts it at once where a tile cannot, and asks
  // for the unit after it in `fetch`.
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
  std::int64_t units_ = 0, done_ = 0;  // or begun:
  bool is_on_way_ = false;             // the last is in the hands of tiles
  std::int64_t calls_ = 0, called_ = 0;
};

}  // namespace nb::kernels
