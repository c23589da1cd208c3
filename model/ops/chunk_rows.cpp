#include "model/ops/chunk_rows.hpp"

#include <utility>

namespace nb::ops {
namespace {

// (count, width) rows of a tensor; without data on a dry device.
kernels::KeyRows rows_of(const Tensor& x, std::int64_t first, std::int64_t count) {
  if (x.host().empty()) return ConstMatrix{nullptr, count, x.shape().last(), x.shape().last()};
  return row_block(x.matrix(), first, count);
}

}  // namespace

ChunkRows chunk_rows(std::span<const Chunk> chunks, std::int64_t context_length) {
  ChunkRows rows;
  for (const Chunk& chunk : chunks) {
    check_chunk(chunk, context_length);
    rows.tokens.insert(rows.tokens.end(), chunk.tokens.begin(), chunk.tokens.end());
    for (std::size_t i = 0; i < chunk.tokens.size(); ++i) {
      rows.positions.push_back(chunk.first_position + static_cast<std::int64_t>(i));
    }
  }
  return rows;
}

LayerKeys::LayerKeys(std::span<const Chunk> chunks, std::int64_t layer, const Tensor& k,
                     const Tensor& v) {
  std::size_t total = 0;
  for (const Chunk& chunk : chunks) total += chunk.prefix.size() + 1;
  segments_.reserve(total);  // spans point into it
  sequences_.reserve(chunks.size());
  std::int64_t row = 0;
  for (const Chunk& chunk : chunks) {
    const auto count = static_cast<std::int64_t>(chunk.tokens.size());
    const std::size_t first = segments_.size();
    for (const auto& cache : chunk.prefix) push(*cache, layer, 0);
    if (chunk.own != nullptr) {
      push(*chunk.own, layer, count);
    } else {
      segments_.push_back({rows_of(k, row, count), rows_of(v, row, count)});
    }
    sequences_.push_back({.first_row = row,
                          .queries = count,
                          .first_position = chunk.first_position,
                          .segments = std::span(segments_).subspan(first)});
    row += count;
  }
}

void LayerKeys::keep_queries(std::span<const std::int64_t> rows) {
  std::vector<kernels::CachedSequence> runs;  // of neighbours
  auto whole = sequences_.begin();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    bool continues = i > 0 && rows[i] == rows[i - 1] + 1;
    for (; rows[i] >= whole->first_row + whole->queries; ++whole) continues = false;
    if (!continues) {
      runs.push_back({.first_row = static_cast<std::int64_t>(i),
                      .first_position = whole->first_position + rows[i] - whole->first_row,
                      .segments = whole->segments});
    }
    ++runs.back().queries;
  }
  sequences_ = std::move(runs);
}

void LayerKeys::push(const KeyValueCache& cache, std::int64_t layer, std::int64_t pending) {
  if (cache.size() + pending == 0) return;
  segments_.push_back({cache.keys(layer, pending), cache.values(layer, pending)});
}

}  // namespace nb::ops
