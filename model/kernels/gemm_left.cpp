#include "model/kernels/gemm_left.hpp"

#include <algorithm>

#include "model/kernels/fetch_ahead.hpp"
#include "model/kernels/gemm_plan.hpp"

namespace nb::kernels {

using inner::kGemmRowWords;
using inner::kGemmSteps;

std::size_t stage_words(std::int64_t rows, std::int64_t steps) {
  return static_cast<std::size_t>(ceil_div(steps, kGemmSteps) * rows * kGemmRowWords);
}

// A unit is rows of the source in full, or 4 cache lines of as many rows as are turned at a time.
LeftWords::LeftWords(const GemmFormat& format, const GemmLeft& a, std::int64_t k_count,
                     const GemmStage& stage, std::int64_t calls, std::uint32_t* words)
    : format_(&format),
      a_(a),
      k_count_(k_count),
      stage_(stage),
      words_(words),
      unit_rows_(a.is_turned ? 64 : 2),
      unit_steps_(a.is_turned ? 16 : kGemmSteps),
      calls_(calls) {
  const std::int64_t blocks = ceil_div(stage.steps, unit_steps_);
  if (blocks * ceil_div(stage.rows, unit_rows_) > calls) unit_rows_ = a.is_turned ? stage.rows : 8;
  units_ = blocks * ceil_div(stage.rows, unit_rows_);
}

const void* LeftWords::source(std::int64_t row, std::int64_t k) const {
  return a_.is_turned ? a_.source.at(k, row) : a_.source.at(row, k);
}

GemmStage LeftWords::unit(std::int64_t index) const {
  const std::int64_t across = ceil_div(stage_.rows, unit_rows_);
  const std::int64_t row = index % across * unit_rows_, step = index / across * unit_steps_;
  return {stage_.row + row, std::min(unit_rows_, stage_.rows - row), stage_.first + step,
          std::min(unit_steps_, stage_.steps - step)};
}

void LeftWords::convert_next() {
  const inner::Gemm& gemm = *format_->gemm;
  const GemmStage part = unit(done_++);
  const std::int64_t k = part.first * gemm.values_per_step, step = part.first - stage_.first;
  const std::int64_t count = std::min(part.steps * gemm.values_per_step, k_count_ - k);
  const void* const from = source(part.row, k);
  std::uint32_t* const to =
      words_ + (step / kGemmSteps * stage_.rows + part.row - stage_.row) * kGemmRowWords +
      step % kGemmSteps;
  if (a_.source.halves != nullptr) {
    const auto pack = a_.is_turned ? gemm.pack_turned_rows_of_halves : gemm.pack_rows_of_halves;
    return pack(static_cast<const std::uint16_t*>(from), a_.source.stride, part.rows, count,
                part.steps, format_->swaps_pairs, to);
  }
  const auto pack = a_.is_turned ? gemm.pack_turned_rows : gemm.pack_rows;
  pack(static_cast<const float*>(from), a_.source.stride, part.rows, count, part.steps,
       format_->rounding, format_->swaps_pairs, to);
}

void LeftWords::convert_all() {
  while (!is_done()) convert_next();
}

inner::Fetch LeftWords::fetch(const GemmStage& part, std::int64_t steps) const {
  const std::int64_t k = part.first * format_->gemm->values_per_step;
  const std::int64_t values = std::min(part.steps * format_->gemm->values_per_step, k_count_ - k);
  return fetch_ahead(source(part.row, k), a_.is_turned ? values : part.rows,
                     a_.is_turned ? part.rows : values, a_.source.stride, steps,
                     a_.source.value_bytes());
}

inner::Fetch LeftWords::fetch_next(std::int64_t steps) const {
  return is_done() ? inner::Fetch{} : fetch(unit(done_), steps);
}

inner::Fetch LeftWords::fetch_all(std::int64_t steps) const {
  return units_ == 0 ? inner::Fetch{} : fetch(stage_, steps);
}

void LeftWords::before_tile(std::int64_t steps, inner::Fetch& fetch) {
  if (is_done()) return;
  const bool begins = called_ == 0;
  const std::int64_t due = units_ * called_++;
  if (!begins && done_ * calls_ >= due) return;
  while (!is_done() && done_ * calls_ < due) convert_next();
  fetch = fetch_next(steps * std::max<std::int64_t>(1, calls_ / units_));
}

}  // namespace nb::kernels
