#include "model/kernels/transpose.hpp"

#include <algorithm>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

std::int64_t strip_rows() { return inner::table().gemm_fp32->cols; }

// body(first, count) for strips of rows that go together.
template <class Body>
void each_strip(std::int64_t rows, const Body& body) {
  const std::int64_t height = strip_rows();
  parallel_for(static_cast<std::size_t>((rows + height - 1) / height), 4, [&](std::size_t strip) {
    check_float_mode();
    const std::int64_t first = static_cast<std::int64_t>(strip) * height;
    body(first, std::min(height, rows - first));
  });
}

// Of at most strip_rows() rows: as the right operand of a product they are one panel, which is the
// strip transposed.
void transpose_strip(ConstMatrix from, Matrix to) {
  const inner::Gemm& gemm = *inner::table().gemm_fp32;
  const std::int64_t size = from.cols * gemm.cols;
  const Scratch panel(static_cast<std::size_t>(size) * sizeof(float));
  gemm.pack_panels(from.data, from.stride, true, from.rows, from.cols, from.cols, inner::kRoundNone,
                   false, size, panel.words());
  for (std::int64_t i = 0; i < from.cols; ++i) {
    std::copy_n(panel.floats() + i * gemm.cols, from.rows, to.row(i));
  }
}

}  // namespace

void transpose(ConstMatrix from, Matrix to) {
  NB_CHECK(from.rows == to.cols && from.cols == to.rows, "[transpose] from ({},{}) to ({},{})",
           from.rows, from.cols, to.rows, to.cols);
  if (from.size() == 0) return;
  each_strip(from.rows, [&](std::int64_t first, std::int64_t rows) {
    transpose_strip({from.row(first), rows, from.cols, from.stride},
                    {to.data + first, to.rows, rows, to.stride});
  });
}

void mirror_lower(Matrix c) {
  NB_CHECK(c.rows == c.cols, "[mirror_lower] c is ({},{})", c.rows, c.cols);
  each_strip(c.rows, [&](std::int64_t first, std::int64_t rows) {
    for (std::int64_t i = first; i < first + rows; ++i) {
      for (std::int64_t j = i + 1; j < first + rows; ++j) c.row(i)[j] = c.row(j)[i];
    }
    if (first == 0) return;
    transpose_strip({c.row(first), rows, first, c.stride}, {c.data + first, first, rows, c.stride});
  });
}

}  // namespace nb::kernels
