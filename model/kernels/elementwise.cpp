#include "model/kernels/elementwise.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {

void fill(std::span<float> values, float value) {
  const inner::Table& table = inner::table();
  each_piece(values.size(), [&](std::size_t begin, std::int64_t count) {
    table.fill(values.data() + begin, count, value);
  });
}

void cast(std::span<const float> from, std::span<float> to, DType dtype) {
  NB_CHECK(from.size() == to.size(), "[cast] from {} to {} elements", from.size(), to.size());
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(dtype);
  each_piece(from.size(), [&](std::size_t begin, std::int64_t count) {
    table.cast(from.data() + begin, count, to.data() + begin, rounding);
  });
}

void scale(std::span<float> values, float factor) {
  const inner::Table& table = inner::table();
  each_piece(values.size(), [&](std::size_t begin, std::int64_t count) {
    table.scale(values.data() + begin, count, factor, values.data() + begin, inner::kRoundNone);
  });
}

}  // namespace nb::kernels
