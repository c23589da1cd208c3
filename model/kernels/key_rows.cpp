#include "model/kernels/key_rows.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"

namespace nb::kernels {
namespace {

constexpr std::int64_t kRowsAtOnce = 16;
constexpr std::int64_t kFewRows = 2;  // of one run; more than that follow one another in memory

// Asks for the memory of so many rows, to be written soon: those of many sequences lie far apart.
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

// body(first row, count, space of the keys, space of the values) of the runs' parts in rows
// [begin, end).
template <class Body>
void each_part(std::span<const KeyRun> runs, std::int64_t begin, std::int64_t end,
               const Body& body) {
  auto run = std::ranges::partition_point(
      runs, [&](const KeyRun& one) { return one.first_row + one.rows <= begin; });
  for (; run != runs.end() && run->first_row < end; ++run) {
    const std::int64_t first = std::max(begin, run->first_row),
                       last = std::min(end, run->first_row + run->rows);
    const std::int64_t done = first - run->first_row;
    body(first, last - first, run->keys.behind(done), run->values.behind(done));
  }
}

}  // namespace

void KeyRows::copy_row(std::int64_t j, float* to) const {
  if (bf16 == nullptr) {
    std::copy_n(fp32 + j * stride, cols, to);
    return;
  }
  const std::uint16_t* from = bf16 + j * stride;
  for (std::int64_t d = 0; d < cols; ++d)
    to[d] = std::bit_cast<float>(static_cast<std::uint32_t>(from[d]) << 16);
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

void store_keys(ConstMatrix k, ConstMatrix v, std::span<const KeyRun> runs,
                const MatmulPolicy& policy) {
  NB_CHECK(k.rows == v.rows && k.cols == v.cols, "[store_keys] k is ({},{}), v ({},{})", k.rows,
           k.cols, v.rows, v.cols);
  const std::int64_t at_once = rows_at_once(k.rows, kRowsAtOnce);
  parallel_chunks(static_cast<std::size_t>(k.rows), static_cast<std::size_t>(at_once),
                  [&](std::size_t begin, std::size_t end) {
                    const auto from = static_cast<std::int64_t>(begin),
                               to = static_cast<std::int64_t>(end);
                    each_part(runs, from, to,
                              [&](std::int64_t, std::int64_t count, const KeySpace& keys,
                                  const KeySpace& values) {
                                if (count > kFewRows) return;
                                fetch_to_write(keys, count, k.cols);
                                fetch_to_write(values, count, k.cols);
                              });
                    each_part(runs, from, to,
                              [&](std::int64_t row, std::int64_t count, const KeySpace& keys,
                                  const KeySpace& values) {
                                store_keys(row_block(k, row, count), keys, policy);
                                store_keys(row_block(v, row, count), values, policy);
                              });
                  });
}

}  // namespace nb::kernels
