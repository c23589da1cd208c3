#include "model/kernels/peak.hpp"

#include <algorithm>

#include "harness/base/parallel.hpp"
#include "model/kernels/gemm.hpp"

namespace nb::kernels {

double run_peak_loop(DType inputs, double flop_per_thread) {
  const inner::Gemm& gemm = *gemm_format(inputs).gemm;
  const double flop_per_step = 2.0 * gemm.rows * gemm.cols * gemm.values_per_step;
  const auto steps = static_cast<std::int64_t>(std::max(1.0, flop_per_thread / flop_per_step));
  const auto count = static_cast<std::size_t>(threads());
  parallel_for(count, 1, [&](std::size_t) {
    float values[16] = {};
    gemm.spin(steps, values);
  });
  return static_cast<double>(steps) * flop_per_step * static_cast<double>(count);
}

}  // namespace nb::kernels
