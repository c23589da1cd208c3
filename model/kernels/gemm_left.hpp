// The left operand of gemm.cpp as rows of words, converted a little at a time, so that tiles which
// run in between have fetched what comes next. Internal to model/kernels.
#pragma once

#include <cstdint>

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

  // Units that are not converted yet.
  bool is_done() const { return done_ == units_; }
  void convert_next();
  void convert_all();
  // The source of the next unit, and of all.
  inner::Fetch fetch_next(std::int64_t steps) const;
  inner::Fetch fetch_all(std::int64_t steps) const;

  // Before each tile: converts what is due; asks for the unit after it in `fetch`.
  void before_tile(std::int64_t steps, inner::Fetch& fetch);

 private:
  GemmStage unit(std::int64_t index) const;
  inner::Fetch fetch(const GemmStage& part, std::int64_t steps) const;
  const void* source(std::int64_t row, std::int64_t k) const;

  const GemmFormat* format_ = nullptr;
  GemmLeft a_ = {};
  std::int64_t k_count_ = 0;
  GemmStage stage_ = {};
  std::uint32_t* words_ = nullptr;
  std::int64_t unit_rows_ = 1, unit_steps_ = 1;
  std::int64_t units_ = 0, done_ = 0;
  std::int64_t calls_ = 0, called_ = 0;
};

}  // namespace nb::kernels
