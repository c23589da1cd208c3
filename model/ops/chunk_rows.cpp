#include "model/ops/chunk_rows.hpp"

namespace nb::ops {

ChunkRows chunk_rows(std::span<const Chunk> chunks, std::int64_t context_length) {
  ChunkRows rows;
  for (const Chunk& chunk : chunks) {
    check_chunk(chunk, context_length);
    rows.tokens.insert(rows.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
    for (std::size_t i = 0; i < chunk.tokens.size(); ++i) {
      rows.positions.push_back(chunk.first_position + chunk.position_shift +
                               static_cast<std::int64_t>(i));
    }
  }
  return rows;
}

}  // namespace nb::ops
