// Packed operands and tiles of a product, for kernels that are made of products (matmul,
// attention). Packing does all that a policy says about inputs: rounding, floor, order of k.
// Internal to model/kernels; one thread.
#pragma once

#include <cstdint>

#include "model/kernels/inner/table.hpp"
#include "model/tensor/dtype.hpp"

namespace nb::kernels {

// Element (p, k) of an operand; p is a row of A or a column of B. One stride is 1.
struct Operand {
  const float* data = nullptr;
  std::int64_t stride_p = 0;
  std::int64_t stride_k = 0;

  Operand from(std::int64_t p, std::int64_t k) const {
    return {data + p * stride_p + k * stride_k, stride_p, stride_k};
  }
};

// How a level packs and multiplies inputs of a format.
struct InputFormat {
  const inner::Product* product = nullptr;
  int rounding = inner::kRoundNone;
  bool swaps_pairs = false;  // k runs 1, 0, 3, 2, … by packing
};
InputFormat input_format(const inner::Table& table, DType inputs);

// Steps of a packed panel for k_count values: padded to whole pairs for bf16.
std::int64_t panel_steps(const InputFormat& format, std::int64_t k_count);
std::int64_t round_up(std::int64_t value, std::int64_t multiple);

// Panels of `width` covering p in [0, p_count) and k in [0, k_count), one after the other, each
// panel_steps(k_count) * width words.
void pack_panels(const InputFormat& format, const Operand& source, std::int64_t p_count,
                 std::int64_t k_count, int width, std::uint32_t* out);

// c (rows, cols rounded up to 16; the surplus columns are overwritten): every tile of A panels × B
// panels. a_panel, b_panel: words from one panel to the next (>= steps * width). Steps are taken in
// blocks that fit L1; the chain goes on from the sums in c.
void multiply_panels(const InputFormat& format, std::int64_t rows, std::int64_t cols,
                     std::int64_t steps, const std::uint32_t* a, std::int64_t a_panel,
                     const std::uint32_t* b, std::int64_t b_panel, float* c, std::int64_t c_stride,
                     int mode);

}  // namespace nb::kernels
