#include "model/kernels/panels.hpp"

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

}  // namespace nb::kernels
