#include "model/kernels/key_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"

namespace nb::kernels {

void KeyRows::copy_row(std::int64_t j, float* to) const {
  if (bf16 == nullptr) {
    std::copy_n(fp32 + j * stride, cols, to);
    return;
  }
  const std::uint16_t* from = bf16 + j * stride;
  for (std::int64_t d = 0; d < cols; ++d)
    to[d] = std::bit_cast<float>(static_cast<std::uint32_t>(from[d]) << 16);
}

void fetch_to_write(const KeySpace& space, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kLine = 64;
  const std::int64_t size = space.bf16 != nullptr ? 2 : 4;  // of a value
  auto* const begin = space.bf16 != nullptr ? reinterpret_cast<std::byte*>(space.bf16)
                                            : reinterpret_cast<std::byte*>(space.fp32);
  for (std::int64_t head = 0; head * space.head_dim < cols; ++head) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const std::byte* row = begin + size * (head * space.head_stride + i * space.stride);
      for (std::int64_t at = 0; at < size * space.head_dim; at += kLine)
        __builtin_prefetch(row + at, 1);
    }
  }
}

void store_keys(ConstMatrix values, const KeySpace& to, const MatmulPolicy& policy) {
  NB_CHECK(to.bf16 == nullptr || takes_bf16(policy), "[store_keys] bf16, and inputs are {}",
           name(policy.inputs));
  NB_CHECK(to.head_dim > 0 && values.cols % to.head_dim == 0,
           "[store_keys] {} columns, heads of {}", values.cols, to.head_dim);
  const auto to_bf16 = inner::table().bf16_attention->to_bf16;
  for (std::int64_t head = 0; head * to.head_dim < values.cols; ++head) {
    for (std::int64_t i = 0; i < values.rows; ++i) {
      const float* from = values.row(i) + head * to.head_dim;
      const std::int64_t at = head * to.head_stride + i * to.stride;
      if (to.bf16 != nullptr) {
        to_bf16(from, to.head_dim, to.bf16 + at);
      } else {
        std::copy_n(from, to.head_dim, to.fp32 + at);
      }
    }
  }
}

}  // namespace nb::kernels
