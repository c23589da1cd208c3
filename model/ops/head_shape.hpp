// Sizes of an attention over whole sequences: q (B·T, H·D), k and v (B·T, G·D). Plain value.
#pragma once

#include <cstdint>

namespace nb::ops {

struct HeadShape {
  std::int64_t batch = 0;
  std::int64_t time = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t window = 0;  // keys before its own that a query sees; 0: all

  std::int64_t rows() const { return batch * time; }
};

}  // namespace nb::ops
