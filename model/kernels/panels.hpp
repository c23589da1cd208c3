// How operands of a product are packed: packing does all that a policy says about inputs, which is
// rounding, floor and order of k. Internal to model/kernels; one thread.
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

std::int64_t round_up(std::int64_t value, std::int64_t multiple);

}  // namespace nb::kernels
