// What attention reads and writes next, for its tiles to prefetch on their way. Internal to
// model/kernels; one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "model/kernels/inner/attention.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

// Queries of a head whose rows the tiles of the head before prefetch: its own first blocks are too
// short to keep up with.
constexpr std::int64_t kLeadQueries = 64;

// Rows [first, first + count) of a head, as far as it has them.
inline ConstAnyMatrix some_rows(const ConstAnyMatrix& m, std::int64_t first, std::int64_t count) {
  const std::int64_t begin = std::min(first, m.rows);
  return row_block(m, begin, std::min(count, m.rows - begin));
}

class RowsAhead {
 public:
  // steps: of the tiles that will prefetch.
  explicit RowsAhead(std::int64_t steps) : steps_(steps) {}

  // Then row by row of all these, which have as many rows as the first.
  void add(std::initializer_list<ConstAnyMatrix> streams) {
    const std::int64_t rows = streams.begin()->rows;
    if (rows == 0) return;
    inner::RowsAhead::Stage& stage = ahead_.stages[ahead_.stage_count++];
    for (const ConstAnyMatrix& m : streams) {
      stage.streams[stage.stream_count++] = {static_cast<const char*>(m.at(0, 0)),
                                             m.stride * m.value_bytes(), m.cols * m.value_bytes()};
    }
    stage.rows = rows;
    rows_ += rows * stage.stream_count;
    const std::int64_t turns = std::max<std::int64_t>(steps_ / inner::RowsAhead::kSteps, 1);
    ahead_.rate = (rows_ * inner::RowsAhead::kUnit + turns - 1) / turns;
  }
  inner::RowsAhead* get() { return &ahead_; }

 private:
  std::int64_t steps_, rows_ = 0;
  inner::RowsAhead ahead_;
};

}  // namespace nb::kernels
