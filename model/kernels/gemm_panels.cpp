// Formats and panels of gemm.hpp.
#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/gemm_plan.hpp"
#include "model/kernels/inner/dispatch.hpp"

namespace nb::kernels {

GemmFormat gemm_format(DType inputs) {
  const inner::Table& table = inner::table();
  if (inputs == DType::kBf16) {
    return {table.gemm_bf16, inner::kRoundBf16Floor, table.gemm_bf16->values_per_step == 1};
  }
  return {table.gemm_fp32, inner::rounding_of(inputs), false};
}

std::int64_t GemmFormat::steps(std::int64_t k_count) const {
  if (gemm->values_per_step == 2) return ceil_div(k_count, 2);
  return swaps_pairs ? round_up(k_count, 2) : k_count;
}

std::int64_t GemmFormat::panel_words(std::int64_t k_count) const {
  return (steps(k_count) + 1) * gemm->cols;
}

std::size_t panels_bytes(const GemmFormat& format, std::int64_t n, std::int64_t k) {
  return static_cast<std::size_t>(ceil_div(n, format.gemm->cols) * format.panel_words(k)) * 4;
}

void pack_all_panels(const GemmFormat& format, const Operand& b, std::int64_t n, std::int64_t k,
                     std::uint32_t* panels) {
  const inner::Gemm& gemm = *format.gemm;
  const std::int64_t steps = format.steps(k), panel_words = format.panel_words(k);
  const bool from_rows = b.stride_k == 1;
  // Rows of a source are read whole where they are k, and in long runs where they are columns.
  const std::int64_t columns = from_rows ? 2 * gemm.cols : 256, block = from_rows ? 512 : 64;
  const std::int64_t across = ceil_div(n, columns);
  parallel_for(static_cast<std::size_t>(across * ceil_div(steps, block)), 1, [&](std::size_t task) {
    check_float_mode();
    const std::int64_t col = static_cast<std::int64_t>(task) % across * columns;
    const std::int64_t step = static_cast<std::int64_t>(task) / across * block;
    const std::int64_t k_first = step * gemm.values_per_step;
    const Operand source = b.from(col, k_first);
    gemm.pack_panels(source.data, from_rows ? b.stride_p : b.stride_k, from_rows,
                     std::min(columns, n - col),
                     std::min(block * gemm.values_per_step, k - k_first),
                     std::min(block, steps - step), format.rounding, format.swaps_pairs,
                     panel_words, panels + col / gemm.cols * panel_words + step * gemm.cols);
  });
}

}  // namespace nb::kernels
