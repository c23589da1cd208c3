#include "model/kernels/dropout.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {

void dropout(ConstMatrix x, double rate, const Rng& rng, Matrix out, DType storage) {
  NB_CHECK(same_shape(x, out), "[dropout] x is ({},{}), out ({},{})", x.rows, x.cols, out.rows,
           out.cols);
  NB_CHECK(rate >= 0 && rate < 1, "[dropout] rate {}", rate);
  const inner::Table& table = inner::table();
  const int rounding = inner::rounding_of(storage);
  const auto factor = static_cast<float>(1.0 / (1.0 - rate));
  each_row(x.rows, x.cols, [&](std::int64_t i) {
    const float* from = x.row(i);
    float* to = out.row(i);
    for (std::int64_t j = 0; j < x.cols; ++j) {
      const bool is_dropped = rng.uniform(static_cast<std::uint64_t>(i * x.cols + j)) < rate;
      to[j] = is_dropped ? 0.0f : from[j] * factor;
    }
    table.cast(to, x.cols, to, rounding);
  });
}

}  // namespace nb::kernels
