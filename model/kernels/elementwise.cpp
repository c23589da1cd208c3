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

void add(std::span<const float> a, std::span<const float> b, std::span<float> out, DType dtype) {
  NB_CHECK(a.size() == b.size() && a.size() == out.size(), "[add] {} and {} to {} elements",
           a.size(), b.size(), out.size());
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(dtype);
  each_piece(a.size(), [&](std::size_t begin, std::int64_t count) {
    table.add(a.data() + begin, b.data() + begin, count, out.data() + begin, rounding);
  });
}

void divide(std::span<float> values, float divisor, DType dtype) {
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(dtype);
  each_piece(values.size(), [&](std::size_t begin, std::int64_t count) {
    table.divide(values.data() + begin, count, divisor, values.data() + begin, rounding);
  });
}

}  // namespace nb::kernels
