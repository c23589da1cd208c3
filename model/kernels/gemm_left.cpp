#include "model/kernels/gemm_left.hpp"

#include <algorithm>

#include "model/kernels/gemm_plan.hpp"

namespace nb::kernels {

using inner::kGemmRowWords;
using inner::kGemmSteps;

std::size_t stage_words(std::int64_t rows, std::int64_t steps) {
  return static_cast<std::size_t>(ceil_div(steps, kGemmSteps) * rows * kGemmRowWords);
}

// A unit is rows of the source in full, or 4 cache lines of as many rows as are transposed at a
// time: of all columns where tiles are few.
LeftWords::LeftWords(const GemmFormat& format, const GemmLeft& a, std::int64_t k_count,
                     const GemmStage& stage, std::int64_t calls, std::uint32_t* words)
    : format_(&format),
      a_(a),
      k_count_(k_count),
      stage_(stage),
      words_(words),
      unit_rows_(a.is_transposed ? 64 : 8),
      unit_steps_(a.is_transposed ? 16 : kGemmSteps),
      calls_(calls) {
  const std::int64_t blocks = ceil_div(stage.steps, unit_steps_);
  if (a.is_transposed && blocks * ceil_div(stage.rows, unit_rows_) > calls) unit_rows_ = stage.rows;
  units_ = blocks * ceil_div(stage.rows, unit_rows_);
}

const void* LeftWords::source(std::int64_t row, std::int64_t k) const {
  return a_.is_transposed ? a_.source.at(k, row) : a_.source.at(row, k);
}

GemmStage LeftWords::unit(std::int64_t index) const {
  const std::int64_t across = ceil_div(stage_.rows, unit_rows_);
  const std::int64_t row = index % across * unit_rows_, step = index / across * unit_steps_;
  return {stage_.row + row, std::min(unit_rows_, stage_.rows - row), stage_.first + step,
          std::min(unit_steps_, stage_.steps - step)};
}

std::int64_t LeftWords::first_k(const GemmStage& unit) const {
  return unit.first * format_->gemm->values_per_step;
}

std::uint32_t* LeftWords::words_of(const GemmStage& unit) const {
  const std::int64_t step = unit.first - stage_.first;
  return words_ + (step / kGemmSteps * stage_.rows + unit.row - stage_.row) * kGemmRowWords +
         step % kGemmSteps;
}

// Whole conversions of two vectors of words.
bool LeftWords::is_for_tiles(const GemmStage& unit) const {
  const inner::Gemm& gemm = *format_->gemm;
  return gemm.converts && !a_.is_transposed && stage_.rows >= inner::kMinConvertingRows &&
         unit.steps % 32 == 0 && first_k(unit) + unit.steps * gemm.values_per_step <= k_count_;
}

inner::Conversion LeftWords::on_the_way(const GemmStage& unit) const {
  const std::int64_t step_bytes = format_->gemm->values_per_step * a_.source.value_bytes();
  const std::int64_t run = unit.steps / 32, next = 32 * step_bytes;
  return {.what = a_.source.bf16 != nullptr ? inner::Converts::kBf16Along : inner::Converts::kAlong,
          .from = static_cast<const char*>(source(unit.row, first_k(unit))),
          .other = next / 2,
          .next = next,
          .jump = a_.source.stride * a_.source.value_bytes() - (run - 1) * next,
          .to = words_of(unit),
          .to_next = 32,
          .to_jump = kGemmRowWords - (run - 1) * 32,
          .run = run,
          .in_run = run,
          .left = run * unit.rows,
          .second = 0};
}

void LeftWords::pack(const GemmStage& unit) const {
  const inner::Gemm& gemm = *format_->gemm;
  const std::int64_t k = first_k(unit);
  const std::int64_t count = std::min(unit.steps * gemm.values_per_step, k_count_ - k);
  const void* const from = source(unit.row, k);
  if (a_.source.bf16 != nullptr) {
    const auto pack = a_.is_transposed ? gemm.pack_transposed_rows_of_bf16 : gemm.pack_rows_of_bf16;
    return pack(static_cast<const std::uint16_t*>(from), a_.source.stride, unit.rows, count,
                unit.steps, format_->swaps_pairs, words_of(unit));
  }
  const auto pack = a_.is_transposed ? gemm.pack_transposed_rows : gemm.pack_rows;
  pack(static_cast<const float*>(from), a_.source.stride, unit.rows, count, unit.steps,
       format_->rounding, format_->swaps_pairs, words_of(unit));
}

void LeftWords::before_tile(std::int64_t steps, inner::Fetch& fetch,
                            inner::Conversion& conversion) {
  if (units_ == 0) return;
  const bool begins = called_ == 0;
  const std::int64_t due = units_ * called_++;
  if (is_on_way_) {
    if (conversion.left > 0) return;
    is_on_way_ = false;
  }
  if (is_done() || (!begins && done_ * calls_ >= due)) return;
  while (!is_done() && !is_on_way_ && done_ * calls_ < due) {
    const GemmStage next = unit(done_++);
    is_on_way_ = is_for_tiles(next);
    if (is_on_way_) {
      conversion = on_the_way(next);
    } else {
      pack(next);
    }
  }
  fetch = {};
  if (is_done()) return;
  fetch = fetch_ahead(*format_->gemm, source_of(unit(done_)),
                      steps * std::max<std::int64_t>(1, calls_ / units_));
}

Runs LeftWords::source_of(const GemmStage& unit) const {
  const std::int64_t k = first_k(unit);
  const std::int64_t values = std::min(unit.steps * format_->gemm->values_per_step, k_count_ - k);
  return {source(unit.row, k), a_.is_transposed ? values : unit.rows,
          a_.is_transposed ? unit.rows : values, a_.source.stride, a_.source.value_bytes()};
}

void LeftWords::finish(inner::Conversion& conversion) {
  if (is_on_way_ && conversion.left > 0) {
    pack(unit(done_ - 1));
    conversion.left = 0;
  }
  is_on_way_ = false;
  while (!is_done()) {
    const GemmStage now = unit(done_++);
    if (!is_done()) fetch_now(source_of(unit(done_)));
    pack(now);
  }
}

}  // namespace nb::kernels
