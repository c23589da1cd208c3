#include "model/kernels/panels.hpp"

#include <algorithm>

#include "model/kernels/inner/dispatch.hpp"

namespace nb::kernels {

InputFormat input_format(const inner::Table& table, DType inputs) {
  if (inputs == DType::kBf16) {
    return {table.bf16, inner::kRoundBf16Floor, table.bf16->values_per_step == 1};
  }
  return {table.fp32, inner::rounding_of(inputs), false};
}

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::int64_t panel_steps(const InputFormat& format, std::int64_t k_count) {
  if (format.product->values_per_step == 2) return (k_count + 1) / 2;
  return format.swaps_pairs ? round_up(k_count, 2) : k_count;
}

void pack_panels(const InputFormat& format, const Operand& source, std::int64_t p_count,
                 std::int64_t k_count, int width, std::uint32_t* out) {
  const std::int64_t steps = panel_steps(format, k_count);
  format.product->pack(source.data, source.stride_p, source.stride_k, p_count, width, k_count,
                       steps, format.rounding, format.swaps_pairs, out);
}

void multiply_panels(const InputFormat& format, std::int64_t rows, std::int64_t cols,
                     std::int64_t steps, const std::uint32_t* a, std::int64_t a_panel,
                     const std::uint32_t* b, std::int64_t b_panel, float* c, std::int64_t c_stride,
                     int mode) {
  const inner::Product& product = *format.product;
  constexpr std::int64_t kStepsAtOnce =
      256;  // a 32-wide B panel of 32 KiB stays in L1, A's stream from L2
  // Chains from +0 that are added to c cannot be cut.
  const std::int64_t block = mode == inner::kTileAdd ? steps : kStepsAtOnce;
  for (std::int64_t first = 0; first < steps; first += block) {
    const std::int64_t count = std::min(block, steps - first);
    const int block_mode = first == 0 ? mode : inner::kTileContinue;
    for (std::int64_t j = 0; j < cols; j += product.cols) {
      const int vectors =
          static_cast<int>((std::min<std::int64_t>(product.cols, cols - j) + 15) / 16);
      const std::uint32_t* b_block = b + j / product.cols * b_panel + first * product.cols;
      for (std::int64_t i = 0; i < rows; i += product.rows) {
        const int used = static_cast<int>(std::min<std::int64_t>(product.rows, rows - i));
        const std::uint32_t* a_block = a + i / product.rows * a_panel + first * product.rows;
        product.tile(used, vectors, count, a_block, b_block, c + i * c_stride + j, c_stride,
                     block_mode);
      }
    }
  }
}

}  // namespace nb::kernels
