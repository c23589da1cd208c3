// Chunks of many sequences as one batch of rows: what an incremental forward pass needs, whatever
// the network.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/ops/key_value_cache.hpp"

namespace nb::ops {

struct ChunkRows {
  std::vector<int> tokens;
  std::vector<std::int64_t> positions;
  std::int64_t count() const { return static_cast<std::int64_t>(positions.size()); }
};
// The chunks in order. NB_CHECK: check_chunk() of each.
ChunkRows chunk_rows(std::span<const Chunk> chunks, std::int64_t context_length);

}  // namespace nb::ops
