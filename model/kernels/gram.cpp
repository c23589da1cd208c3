// A · Aᵀ from one triangle.
#include <algorithm>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/gemm.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

// Everything above the diagonal out of what is below it, in strips of columns.
void mirror(Matrix c) {
  const inner::Gemm& gemm = inner::table().gemm_fp32;
  const std::int64_t width = gemm.cols;
  const auto strips = static_cast<std::size_t>((c.rows + width - 1) / width);
  parallel_for(strips, 4, [&](std::size_t strip) {
    check_float_mode();
    const std::int64_t first = static_cast<std::int64_t>(strip) * width;
    const std::int64_t count = std::min(width, c.rows - first);
    for (std::int64_t i = first; i < first + count; ++i) {
      for (std::int64_t j = i + 1; j < first + count; ++j) c.row(i)[j] = c.row(j)[i];
    }
    if (first == 0) return;
    // A panel is the strip's rows, turned.
    const Scratch turned(static_cast<std::size_t>(first * width) * sizeof(float));
    gemm.pack_panels(c.row(first), c.stride, true, count, first, first, inner::kRoundNone, false,
                     first * width, turned.words());
    for (std::int64_t i = 0; i < first; ++i) {
      std::copy_n(turned.floats() + i * width, count, c.row(i) + first);
    }
  });
}

}  // namespace

void matmul_gram(ConstMatrix a, Matrix c, const MatmulPolicy& policy) {
  NB_CHECK(c.rows == a.rows && c.cols == a.rows, "[matmul_gram] c is ({},{}), a ({},{})", c.rows,
           c.cols, a.rows, a.cols);
  if (policy.accumulation == Accumulation::kHostBlas) return matmul_nt(a, a, c, policy);
  if (a.rows == 0) return;
  const GemmFormat format = gemm_format(policy.inputs);
  const Scratch panels(panels_bytes(format, a.rows, a.cols));
  pack_all_panels(format, {a.data, a.stride, 1}, a.rows, a.cols, panels.words());
  multiply(format, {.source = a}, panels.words(), {a.rows, a.rows, a.cols}, c, policy,
           {.is_lower = true});
  mirror(c);
}

}  // namespace nb::kernels
