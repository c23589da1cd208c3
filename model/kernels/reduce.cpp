#include "model/kernels/reduce.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "harness/base/parallel.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {

double sum_of_squares(std::span<const float> values) {
  constexpr std::size_t kChunk = 4096;
  const inner::Table& table = inner::table();
  std::vector<float> sums((values.size() + kChunk - 1) / kChunk);
  parallel_for(sums.size(), 16, [&](std::size_t i) {
    check_float_mode();
    const std::size_t begin = i * kChunk;
    sums[i] = table.sum_of_squares(
        values.data() + begin, static_cast<std::int64_t>(std::min(kChunk, values.size() - begin)));
  });
  double total = 0.0;
  for (const float sum : sums) total += static_cast<double>(sum);
  return total;
}

double sum_in_order(std::span<const float> values) {
  double total = 0.0;
  for (const float value : values) total += static_cast<double>(value);
  return total;
}

std::int64_t first_largest(std::span<const float> values) {
  return inner::table().first_largest(values.data(), std::ssize(values));
}

bool all_finite(std::span<const float> values) {
  const inner::Table& table = inner::table();
  std::atomic<bool> result = true;
  each_piece(values.size(), [&](std::size_t begin, std::int64_t count) {
    if (!table.all_below(values.data() + begin, count, std::numeric_limits<float>::infinity())) {
      result = false;
    }
  });
  return result;
}

}  // namespace nb::kernels
