// Keys and values of all layers for a run of consecutive positions of one sequence, on the device:
// one block of simulated memory in the storage dtype, one host buffer, of bf16 where the policy's
// inputs are bf16 (model/kernels/key_rows.hpp), with a head's positions side by side. A filled
// cache can serve as the prefix of many sequences (shared_ptr<const …>); a sequence that outgrows
// its cache continues in a new one. Never reads positions that were not appended. Dies before its
// Device; one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/device/device.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/key_rows.hpp"

namespace nb {

struct CacheShape {
  std::int64_t layers = 0;
  std::int64_t width = 0;     // kv_heads × head_dim
  std::int64_t head_dim = 0;  // 0: one head
};

class KeyValueCache {
 public:
  // Holds positions first_position … first_position + capacity - 1. Throws OutOfMemory.
  KeyValueCache(Device& device, const CacheShape& shape, std::int64_t first_position,
                std::int64_t capacity);

  std::int64_t first_position() const { return first_position_; }
  std::int64_t size() const { return size_; }  // positions that every layer has
  std::int64_t capacity() const { return capacity_; }
  std::int64_t end_position() const { return first_position_ + size_; }
  const CacheShape& shape() const { return shape_; }
  std::uint64_t size_bytes() const { return block_.size_bytes(); }  // on the device

  // (size() + pending, width) of one layer, as attention reads them; pending: positions that this
  // layer has already. Sizes without data on a dry device. Waits for what is recorded.
  kernels::KeyRows keys(std::int64_t layer, std::int64_t pending = 0) const;
  kernels::KeyRows values(std::int64_t layer, std::int64_t pending = 0) const;
  // Both for an op that is recorded, and runs after those that write them.
  kernels::KeySegment segment(std::int64_t layer, std::int64_t pending) const;

  // Where the next `count` positions of one layer go; execute mode only. NB_CHECK: they fit.
  kernels::KeySpace next_keys(std::int64_t layer, std::int64_t count);
  kernels::KeySpace next_values(std::int64_t layer, std::int64_t count);
  void advance(std::int64_t count);  // every layer has its next `count` positions now
  // The same, and remembers the last of these tokens, for decoders that mix it into the next one.
  void advance(std::span<const int> tokens);
  int last_token() const { return last_token_; }  // -1: nobody said
  // Where all of it lies; whoever holds this may outlive the cache. Null on a dry device.
  const std::shared_ptr<HostValues>& memory() const { return block_.values(); }

 private:
  std::int64_t first_value(std::int64_t layer, std::int64_t which) const;
  kernels::KeyRows filled(std::int64_t layer, std::int64_t which, std::int64_t pending) const;
  kernels::KeySpace next(std::int64_t layer, std::int64_t which, std::int64_t count);

  CacheShape shape_;
  std::int64_t first_position_;
  std::int64_t capacity_;
  std::int64_t size_ = 0;
  int last_token_ = -1;
  // Where block_'s values are; null: the other format, or a dry device.
  float* fp32_ = nullptr;
  std::uint16_t* bf16_ = nullptr;
  Tensor block_;  // (2 · layers · heads · capacity, D): keys, then values of layer 0, of layer 1, …
};

// Consecutive tokens of one sequence for one forward pass. Positions before first_position are in
// `prefix` (in order, together exactly 0 … own's first position) and in `own`.
struct Chunk {
  std::span<const int> tokens = {};  // at least one
  std::int64_t first_position = 0;   // of tokens[0]
  std::vector<std::shared_ptr<const KeyValueCache>> prefix = {};
  KeyValueCache* own = nullptr;  // gains the chunk's positions; null: nobody will need them
  // Added to the positions that the network is told (rotary tables, learned ones) but not to the
  // places of the keys: 0, unless positions are counted differently than in whole passes.
  std::int64_t position_shift = 0;
};

// NB_CHECK of the rules above, and that the last position lies in the context.
void check_chunk(const Chunk& chunk, std::int64_t context_length);

}  // namespace nb

namespace nb::ops {

// Chunks of many sequences as one batch of rows: what an incremental forward pass needs, whatever
// the network.
struct ChunkRows {
  std::vector<int> tokens;
  std::vector<std::int64_t> positions;
  std::int64_t count() const { return static_cast<std::int64_t>(positions.size()); }
};
// The chunks in order. NB_CHECK: check_chunk() of each.
ChunkRows chunk_rows(std::span<const Chunk> chunks, std::int64_t context_length);

}  // namespace nb::ops
