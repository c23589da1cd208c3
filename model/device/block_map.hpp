// Address bookkeeping of the caching allocator: segments cut into blocks that are live, free or
// (expandable segments) not mapped. Knows sizes and addresses; nothing of budgets, names, handles
// or statistics, which are memory.cpp's. Follows CUDACachingAllocator.cpp (torch 2.x):
// get_free_block, should_split, try_merge_blocks, find_expandable_block, release_cached_blocks,
// release_available_cached_blocks, garbage_collect_cached_blocks.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/device/memory.hpp"

namespace nb {

enum class PoolKind : std::uint8_t { kSmall, kLarge };
enum class BlockState : std::uint8_t { kFree, kLive, kUnmapped };

struct Block {
  std::uint64_t size = 0;
  std::uint64_t segment = 0;  // address where its segment starts
  PoolKind pool = PoolKind::kSmall;
  BlockState state = BlockState::kFree;
  std::uint64_t free_since = 0;  // searches of its pool until it became free
};

class BlockMap {
 public:
  using Map = std::map<std::uint64_t, Block>;  // by address
  using Place = Map::iterator;  // of a block: good until it is freed or the map is assigned

  // address_space_bytes: of an expandable segment (torch: 9/8 of the device's capacity).
  BlockMap(const AllocatorRules& rules, std::uint64_t address_space_bytes);

  PoolKind pool_of(std::uint64_t rounded) const;
  // Bytes that a new segment for this request would map.
  std::uint64_t segment_bytes(std::uint64_t rounded) const;

  // Best fit among free blocks, cut to size and made live.
  std::optional<Place> take(std::uint64_t rounded);
  // Device bytes that grow() would map for this request.
  std::uint64_t growth_bytes(std::uint64_t rounded) const;
  // Maps them (new segment, or more of an expandable one) and takes the block.
  Place grow(std::uint64_t rounded);
  void give(Place block);          // live → free, merged with free neighbours
  std::uint64_t release_unused();  // unmaps what no live block needs; returns the bytes
  // Segments of the large pool that are free as a whole, from the age that is their mean on,
  // round after round until target_bytes are released or nothing is left. Age: searches of the pool
  // since the block became free. Returns the bytes.
  std::uint64_t collect_garbage(std::uint64_t target_bytes);
  // Of the blocks that are never split, the smallest that would serve the request; if none does,
  // the largest ones until their sum does.
  struct Released {
    std::uint64_t size_bytes = 0;
    bool is_enough = false;
  };
  Released release_oversize(std::uint64_t rounded);

  Place place_of(std::uint64_t address) { return blocks_.find(address); }  // it has a block
  const Map& blocks() const { return blocks_; }
  std::uint64_t next_address() const { return next_address_; }
  std::array<std::uint64_t, 2> searches() const { return searches_; }  // small, large
  void set_searches(std::array<std::uint64_t, 2> searches) { searches_ = searches; }
  // Replaces everything; false (and unchanged) when blocks overlap or leave gaps in a segment.
  bool assign(Map blocks, std::uint64_t next_address);

 private:
  struct FreeBlock {
    std::uint64_t size, address;
    Place place;
    bool operator<(const FreeBlock& other) const {
      return size != other.size ? size < other.size : address < other.address;
    }
  };
  // A few, but thousands while the optimizer of a deep model runs.
  using Free = std::set<FreeBlock>;
  bool should_split(const Block& block, std::uint64_t rounded) const;
  std::uint64_t granule(PoolKind pool) const;
  Place take_block(Map::iterator it, std::uint64_t rounded);
  Map::iterator merge(Map::iterator it);                    // a free block with its free neighbours
  Map::iterator cut(Map::iterator it, std::uint64_t size);  // into size and rest; returns the rest
  bool is_whole_segment(Map::const_iterator it) const;
  std::uint64_t release_segment(Map::iterator it);  // free as a whole; returns its bytes
  std::uint64_t unmapped_after(Map::const_iterator it) const;
  std::optional<std::uint64_t> expansion_point(PoolKind pool, std::uint64_t rounded) const;
  void map_front(Map::iterator it, std::uint64_t size);
  void index_free(Map::iterator it);
  void unindex_free(Map::iterator it);
  Free& free_of(PoolKind pool) { return free_[static_cast<std::size_t>(pool)]; }

  AllocatorRules rules_;
  std::uint64_t address_space_bytes_;
  std::uint64_t next_address_;
  Map blocks_;
  std::array<Free, 2> free_;            // mapped ones, of each pool
  std::vector<Free::node_type> spare_;  // emptied places of free_, to be filled again
  std::array<std::uint64_t, 2> searches_{};
};

}  // namespace nb
