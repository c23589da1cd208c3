// How ranks share the rows of a tensor: rank r of p has the rows [r · k, (r + 1) · k) with
// k = ceil(rows / p), as far as there are so many; the last ranks may have none (torch's chunk(),
// which FSDP cuts by). Elements of a vector count as rows. Pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "model/device/tensor.hpp"

namespace nb {

struct RowShard {
  std::int64_t begin = 0;       // in rows
  std::int64_t count = 0;       // rows that there are
  std::int64_t padded = 0;      // k
  std::int64_t row_length = 1;  // elements

  std::int64_t first() const { return begin * row_length; }  // element
  std::int64_t elements() const { return count * row_length; }
  std::int64_t padded_elements() const { return padded * row_length; }
};

// shape (rows, …), of rank 1 or 2.
inline RowShard row_shard(const Shape& shape, int rank, int ranks) {
  const std::int64_t rows = shape[0], each = (rows + ranks - 1) / ranks;
  const std::int64_t begin = std::min(rows, rank * each);
  return {begin, std::min(each, rows - begin), each,
          shape.count() / std::max<std::int64_t>(rows, 1)};
}

// Of a tensor of that shape.
inline Shape shard_shape(const Shape& shape, const RowShard& shard) {
  if (shape.rank() == 1) return {shard.count};
  return {shard.count, shape[1]};
}

}  // namespace nb
