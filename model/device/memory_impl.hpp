// Inside of CachingAllocator, shared by memory.cpp (allocation), memory_text.cpp (words) and
// memory_state.cpp (checkpoints). Not for other folders.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>

#include "model/device/block_map.hpp"
#include "model/device/memory.hpp"

namespace nb {

struct LiveBlock {
  BlockMap::Place place;
  std::uint64_t id = 0;
  int holders = 0;
  // As rounded. The block itself may be larger: a remainder too small to split off stays with it,
  // and whether there was one depends on what stood there before.
  std::uint64_t requested = 0;
  std::string name;
  BlockUse use = BlockUse::kActivation;
  std::list<LiveBlock>::iterator self;

  std::uint64_t address() const { return place->first; }
  std::uint64_t size() const { return place->second.size; }
};

struct CachingAllocator::Impl {
  Impl(const AllocatorRules& r, const MemoryBudget& budget, int index)
      : rules(r), device_index(index), map(r, budget.capacity_bytes / 8 * 9) {
    stats.capacity_bytes = budget.capacity_bytes;
    stats.reserve_bytes = budget.reserve_bytes;
  }
  std::uint64_t& bytes_of(BlockUse use) { return by_use[static_cast<std::size_t>(use)]; }
  void drop(LiveBlock& block) noexcept;  // one holder less; the last frees the block
  std::uint64_t allowed_bytes() const;   // that the pools may have
  std::uint64_t free_on_device() const;  // of the device itself
  bool has_room(std::uint64_t rounded) const;
  BlockMap::Place grow(std::uint64_t rounded);
  std::optional<BlockMap::Place> grow_or_release(std::uint64_t rounded);
  void empty_cache();
  std::string out_of_memory_text(std::uint64_t wanted_bytes) const;

  AllocatorRules rules;
  int device_index;
  BlockMap map;
  MemoryStats stats;
  BytesByUse by_use{}, peak_by_use{};  // of allocated_bytes, of peak_allocated_bytes
  std::list<LiveBlock> live;           // in the order of allocation
  std::uint64_t next_id = 1;
};

}  // namespace nb
