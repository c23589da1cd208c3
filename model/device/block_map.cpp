#include "model/device/block_map.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr std::uint64_t kFirstAddress = 1ull << 40;      // a made-up device address space
constexpr std::uint64_t kSegmentAlignment = 2ull << 20;  // of segments, as driver allocations are

std::uint64_t round_up(std::uint64_t value, std::uint64_t step) {
  return (value + step - 1) / step * step;
}

}  // namespace

BlockMap::BlockMap(const AllocatorRules& rules, std::uint64_t address_space_bytes)
    : rules_(rules),
      address_space_bytes_(
          round_up(std::max<std::uint64_t>(address_space_bytes, 1),
                   std::max(rules.large_segment_bytes, rules.small_segment_bytes))),
      next_address_(kFirstAddress) {}

PoolKind BlockMap::pool_of(std::uint64_t rounded) const {
  return rounded <= rules_.small_limit_bytes ? PoolKind::kSmall : PoolKind::kLarge;
}

std::uint64_t BlockMap::segment_bytes(std::uint64_t rounded) const {
  if (rounded <= rules_.small_limit_bytes) return rules_.small_segment_bytes;
  if (rounded < rules_.large_limit_bytes) return rules_.large_segment_bytes;
  return round_up(rounded, rules_.large_rounding_bytes);
}

std::uint64_t BlockMap::granule(PoolKind pool) const {
  return pool == PoolKind::kSmall ? rules_.small_segment_bytes : rules_.large_segment_bytes;
}

bool BlockMap::should_split(const Block& block, std::uint64_t rounded) const {
  const std::uint64_t rest = block.size - rounded;
  if (block.pool == PoolKind::kSmall || rules_.expandable_segments) {
    return rest >= rules_.rounding_bytes;
  }
  return rounded < rules_.max_split_bytes && rest > rules_.large_split_remainder_bytes;
}

void BlockMap::index_free(Map::iterator it) {
  Free& free = free_of(it->second.pool);
  const FreeBlock entry = {it->second.size, it->first, it};
  it->second.free_since = searches_[static_cast<std::size_t>(it->second.pool)];
  if (spare_.empty()) {
    free.insert(entry);
    return;
  }
  spare_.back().value() = entry;
  free.insert(std::move(spare_.back()));
  spare_.pop_back();
}
void BlockMap::unindex_free(Map::iterator it) {
  Free& free = free_of(it->second.pool);
  const FreeBlock entry = {it->second.size, it->first, it};
  spare_.push_back(free.extract(entry));
}

BlockMap::Map::iterator BlockMap::cut(Map::iterator it, std::uint64_t size) {
  Block rest = it->second;
  rest.size -= size;
  it->second.size = size;
  return blocks_.emplace_hint(std::next(it), it->first + size, rest);
}

BlockMap::Place BlockMap::take_block(Map::iterator it, std::uint64_t rounded) {
  unindex_free(it);
  if (should_split(it->second, rounded)) index_free(cut(it, rounded));
  it->second.state = BlockState::kLive;
  return it;
}

std::uint64_t BlockMap::unmapped_after(Map::const_iterator it) const {
  const auto next = std::next(it);
  if (next == blocks_.end() || next->second.segment != it->second.segment ||
      next->second.state != BlockState::kUnmapped) {
    return 0;
  }
  return next->second.size;
}

std::optional<BlockMap::Place> BlockMap::take(std::uint64_t rounded) {
  ++searches_[static_cast<std::size_t>(pool_of(rounded))];
  const auto& free = free_of(pool_of(rounded));
  auto best = free.lower_bound(FreeBlock{rounded, 0, {}});
  if (best == free.end()) return std::nullopt;
  const auto serves = [&](const FreeBlock& entry) {
    if (rounded < rules_.max_split_bytes) return entry.size < rules_.max_split_bytes;
    return entry.size < rounded + rules_.large_segment_bytes;  // not split, so not much larger
  };
  if (!rules_.expandable_segments)
    return serves(*best) ? std::optional(take_block(best->place, rounded)) : std::nullopt;
  // A free block at the growing end counts with the size it can grow to, so that the end stays
  // free.
  const auto grown = [&](const FreeBlock& entry) {
    return entry.size + unmapped_after(entry.place);
  };
  for (auto next = std::next(best); next != free.end() && grown(*next) < grown(*best);) {
    best = next++;
  }
  if (!serves(*best)) return std::nullopt;
  return take_block(best->place, rounded);
}

// The free or unmapped block from which an expandable segment has `rounded` bytes without a live
// one.
std::optional<std::uint64_t> BlockMap::expansion_point(PoolKind pool, std::uint64_t rounded) const {
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    if (it->second.state != BlockState::kUnmapped || it->second.pool != pool) continue;
    auto start = it;
    if (it != blocks_.begin()) {
      const auto before = std::prev(it);
      if (before->second.segment == it->second.segment &&
          before->second.state == BlockState::kFree) {
        start = before;
      }
    }
    std::uint64_t room = 0;
    for (auto b = start; b != blocks_.end() && room < rounded; ++b) {
      if (b->second.segment != it->second.segment || b->second.state == BlockState::kLive) break;
      room += b->second.size;
    }
    if (room >= rounded) return start->first;
  }
  return std::nullopt;
}

std::uint64_t BlockMap::growth_bytes(std::uint64_t rounded) const {
  if (!rules_.expandable_segments) return segment_bytes(rounded);
  const PoolKind pool = pool_of(rounded);
  const auto point = expansion_point(pool, rounded);
  if (!point) return round_up(rounded, granule(pool));
  std::uint64_t needed = rounded;
  std::uint64_t mapped = 0;
  for (auto it = blocks_.find(*point); needed > 0 && it != blocks_.end(); ++it) {
    const std::uint64_t part = std::min(needed, it->second.size);
    if (it->second.state == BlockState::kUnmapped) {
      mapped += std::min(round_up(part, granule(pool)), it->second.size);
    }
    needed -= part;
  }
  return mapped;
}

// The first `size` bytes of an unmapped block, whole granules, become free.
void BlockMap::map_front(Map::iterator it, std::uint64_t size) {
  const std::uint64_t mapped = std::min(round_up(size, granule(it->second.pool)), it->second.size);
  if (mapped < it->second.size) cut(it, mapped);
  it->second.state = BlockState::kFree;
}

BlockMap::Place BlockMap::grow(std::uint64_t rounded) {
  const PoolKind pool = pool_of(rounded);
  if (!rules_.expandable_segments) {
    const std::uint64_t size = segment_bytes(rounded);
    const auto it =
        blocks_.emplace(next_address_, Block{size, next_address_, pool, BlockState::kFree}).first;
    next_address_ = round_up(next_address_ + size, kSegmentAlignment);
    index_free(it);
    return take_block(it, rounded);
  }
  auto point = expansion_point(pool, rounded);
  if (!point) {
    const std::uint64_t size = std::max(address_space_bytes_, round_up(rounded, granule(pool)));
    blocks_.emplace(next_address_, Block{size, next_address_, pool, BlockState::kUnmapped});
    point = next_address_;
    next_address_ = round_up(next_address_ + size, kSegmentAlignment);
  }
  auto it = blocks_.find(*point);
  if (it->second.state == BlockState::kFree) {
    unindex_free(it);
  } else {
    map_front(it, std::min(rounded, it->second.size));
  }
  while (it->second.size < rounded) {
    auto next = std::next(it);
    if (next->second.state == BlockState::kUnmapped) {
      map_front(next, std::min(rounded - it->second.size, next->second.size));
    } else {
      unindex_free(next);
    }
    it->second.size += next->second.size;
    blocks_.erase(next);
  }
  return take_block(merge(it), rounded);
}

BlockMap::Map::iterator BlockMap::merge(Map::iterator it) {
  const auto joins = [](const Block& a, const Block& b) {
    return a.segment == b.segment && a.state == BlockState::kFree && b.state == BlockState::kFree;
  };
  if (const auto next = std::next(it); next != blocks_.end() && joins(it->second, next->second)) {
    unindex_free(next);
    it->second.size += next->second.size;
    blocks_.erase(next);
  }
  if (it != blocks_.begin()) {
    const auto before = std::prev(it);
    if (joins(before->second, it->second)) {
      unindex_free(before);
      before->second.size += it->second.size;
      blocks_.erase(it);
      it = before;
    }
  }
  index_free(it);
  return it;
}

void BlockMap::give(Place block) {
  NB_CHECK(block->second.state == BlockState::kLive, "[allocator] no live block at {:#x}",
           block->first);
  block->second.state = BlockState::kFree;
  merge(block);
}

bool BlockMap::assign(Map blocks, std::uint64_t next_address) {
  std::uint64_t segment = 0, end = 0;
  for (const auto& [address, block] : blocks) {
    const bool starts = block.segment == address;
    if (block.size == 0 || address < end || address + block.size > next_address) return false;
    if (!starts && (block.segment != segment || address != end)) return false;
    segment = block.segment;
    end = address + block.size;
  }
  blocks_ = std::move(blocks);
  next_address_ = next_address;
  for (auto& free : free_) free.clear();
  for (auto it = blocks_.begin(); it != blocks_.end(); ++it) {
    const std::uint64_t since = it->second.free_since;
    if (it->second.state == BlockState::kFree) index_free(it);
    it->second.free_since = since;
  }
  return true;
}

}  // namespace nb
