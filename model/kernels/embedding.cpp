#include "model/kernels/embedding.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "model/kernels/inner/dispatch.hpp"
#include "model/kernels/row_loop.hpp"
#include "model/kernels/scratch.hpp"

namespace nb::kernels {
namespace {

void check_ids(const char* op, std::span<const int> ids, ConstMatrix table, ConstMatrix rows) {
  NB_CHECK(rows.rows == static_cast<std::int64_t>(ids.size()) && rows.cols == table.cols,
           "[{}] {} ids, table ({},{}), rows ({},{})", op, ids.size(), table.rows, table.cols,
           rows.rows, rows.cols);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    NB_CHECK(ids[i] >= 0 && ids[i] < table.rows, "[{}] id {} at position {} is outside [0, {})", op,
             ids[i], i, table.rows);
  }
}

}  // namespace

void embedding(ConstMatrix table, std::span<const int> ids, Matrix out, DType storage) {
  check_ids("embedding", ids, table, out);
  const inner::Table& kernels = inner::table();
  const int rounding = inner::rounding_of(storage);
  each_row(out.rows, out.cols, [&](std::int64_t i) {
    kernels.cast(table.row(ids[static_cast<std::size_t>(i)]), out.cols, out.row(i), rounding);
  });
}

void gather_rows(ConstMatrix from, std::span<const std::int64_t> rows, Matrix out) {
  NB_CHECK(out.rows == std::ssize(rows) && out.cols == from.cols,
           "[gather_rows] {} rows of ({},{}), out ({},{})", rows.size(), from.rows, from.cols,
           out.rows, out.cols);
  for (const std::int64_t row : rows)
    NB_CHECK(row >= -1 && row < from.rows, "[gather_rows] row {} of {}", row, from.rows);
  each_row(out.rows, out.cols, [&](std::int64_t i) {
    const std::int64_t row = rows[static_cast<std::size_t>(i)];
    if (row < 0)
      std::fill_n(out.row(i), out.cols, 0.0f);
    else
      std::copy_n(from.row(row), out.cols, out.row(i));
  });
}

void embedding_backward(ConstMatrix dout, std::span<const int> ids, Matrix dtable, DType gradient) {
  check_ids("embedding_backward", ids, dtable, dout);
  if (ids.empty()) return;
  const inner::Table& kernels = inner::table();
  const int rounding = inner::rounding_of(gradient);
  // Positions by id, each id's in token order (a counting sort); `starts` marks where one begins.
  std::vector<std::size_t> next(static_cast<std::size_t>(dtable.rows));
  for (const int id : ids) ++next[static_cast<std::size_t>(id)];
  std::vector<std::size_t> starts;
  std::size_t begun = 0;
  for (std::size_t& count : next) {
    if (count > 0) starts.push_back(begun);
    begun += std::exchange(count, begun);
  }
  starts.push_back(begun);
  std::vector<std::int64_t> order(ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    order[next[static_cast<std::size_t>(ids[i])]++] = static_cast<std::int64_t>(i);
  }
  const auto id_at = [&](std::int64_t position) { return ids[static_cast<std::size_t>(position)]; };
  parallel_chunks(starts.size() - 1, 16, [&](std::size_t begin, std::size_t end) {
    check_float_mode();
    const Scratch scratch(static_cast<std::size_t>(dout.cols) * sizeof(float));
    float* sum = scratch.floats();
    for (std::size_t group = begin; group < end; ++group) {
      std::memset(sum, 0, static_cast<std::size_t>(dout.cols) * sizeof(float));
      for (std::size_t i = starts[group]; i < starts[group + 1]; ++i) {
        kernels.add(sum, dout.row(order[i]), dout.cols, sum, inner::kRoundNone);
      }
      kernels.cast(sum, dout.cols, sum, rounding);
      float* row = dtable.row(id_at(order[starts[group]]));
      kernels.add(row, sum, dout.cols, row, rounding);
    }
  });
}

}  // namespace nb::kernels
