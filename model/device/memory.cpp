#include "model/device/memory.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "harness/base/check.hpp"
#include "model/device/block_map.hpp"
#include "model/device/memory_impl.hpp"

namespace nb {

std::string_view name(BlockUse use) {
  constexpr std::array<std::string_view, kBlockUses> kNames{
      "activations", "workspace", "parameters", "gradients", "optimizer", "cache"};
  return kNames[static_cast<std::size_t>(use)];
}

OutOfMemory::OutOfMemory(const std::string& text, std::string_view tensor,
                         std::uint64_t requested_bytes, const MemoryStats& stats)
    : std::runtime_error(text), tensor_(tensor), requested_bytes_(requested_bytes), stats_(stats) {}

BlockHandle::BlockHandle(const BlockHandle& other)
    : allocator_(other.allocator_), block_(other.block_) {
  if (block_ != nullptr) ++block_->holders;
}
BlockHandle::BlockHandle(BlockHandle&& other) noexcept
    : allocator_(std::exchange(other.allocator_, nullptr)),
      block_(std::exchange(other.block_, nullptr)) {}
BlockHandle& BlockHandle::operator=(BlockHandle other) noexcept {
  std::swap(allocator_, other.allocator_);
  std::swap(block_, other.block_);
  return *this;
}
BlockHandle::~BlockHandle() { reset(); }

void BlockHandle::reset() noexcept {
  if (allocator_ != nullptr) allocator_->impl_->drop(*block_);
  allocator_ = nullptr;
  block_ = nullptr;
}
std::uint64_t BlockHandle::id() const { return held() ? block_->id : 0; }
std::uint64_t BlockHandle::address() const {
  NB_CHECK(held(), "[allocator] an empty handle has no address");
  return block_->address();
}
std::uint64_t BlockHandle::size_bytes() const {
  NB_CHECK(held(), "[allocator] an empty handle has no size");
  return block_->size();
}

void CachingAllocator::Impl::drop(LiveBlock& block) noexcept {
  if (--block.holders > 0) return;
  stats.allocated_bytes -= block.size();
  bytes_of(block.use) -= block.size();
  map.give(block.place);
  live.erase(block.self);
}

std::uint64_t CachingAllocator::Impl::free_on_device() const {
  const std::uint64_t used = stats.reserve_bytes + stats.reserved_bytes;
  return used >= stats.capacity_bytes ? 0 : stats.capacity_bytes - used;
}

std::uint64_t CachingAllocator::Impl::allowed_bytes() const {
  if (rules.memory_fraction >= 1) return stats.capacity_bytes;
  return static_cast<std::uint64_t>(rules.memory_fraction *
                                    static_cast<double>(stats.capacity_bytes));
}

bool CachingAllocator::Impl::has_room(std::uint64_t rounded) const {
  const std::uint64_t growth = map.growth_bytes(rounded);
  return growth <= free_on_device() && stats.reserved_bytes + growth <= allowed_bytes();
}

BlockMap::Place CachingAllocator::Impl::grow(std::uint64_t rounded) {
  stats.reserved_bytes += map.growth_bytes(rounded);
  ++stats.segments_made;
  return map.grow(rounded);
}

// No free block serves the request. In torch's order: collect what is above the threshold; a new
// segment; release blocks that are never split; release everything unused.
std::optional<BlockMap::Place> CachingAllocator::Impl::grow_or_release(std::uint64_t rounded) {
  if (rules.garbage_collection > 0) {
    const auto threshold =
        static_cast<std::uint64_t>(rules.garbage_collection * static_cast<double>(allowed_bytes()));
    if (stats.reserved_bytes > threshold)
      stats.reserved_bytes -= map.collect_garbage(stats.reserved_bytes - threshold);
  }
  if (has_room(rounded)) return grow(rounded);
  const BlockMap::Released oversize = map.release_oversize(rounded);
  stats.reserved_bytes -= oversize.size_bytes;
  if (oversize.is_enough && has_room(rounded)) return grow(rounded);
  empty_cache();
  ++stats.retries;
  if (rules.expandable_segments)  // it can keep part of a granule
    if (const auto place = map.take(rounded)) return place;
  if (has_room(rounded)) return grow(rounded);
  return std::nullopt;
}

void CachingAllocator::Impl::empty_cache() { stats.reserved_bytes -= map.release_unused(); }

CachingAllocator::CachingAllocator(const AllocatorRules& rules, const MemoryBudget& budget,
                                   int device_index)
    : impl_(std::make_unique<Impl>(rules, budget, device_index)) {}

CachingAllocator::~CachingAllocator() = default;

const AllocatorRules& CachingAllocator::rules() const { return impl_->rules; }

std::uint64_t CachingAllocator::rounded(std::uint64_t size_bytes) const {
  const std::uint64_t step = impl_->rules.rounding_bytes;
  const std::uint64_t padded = size_bytes + impl_->rules.padding_bytes;
  return std::max(step, (padded + step - 1) / step * step);
}

BlockHandle CachingAllocator::allocate(std::uint64_t size_bytes, std::string_view name,
                                       BlockUse use) {
  Impl& a = *impl_;
  const std::uint64_t size = rounded(size_bytes);
  // No device has half the address space; without this a huge request would wrap around.
  const bool absurd = size_bytes > (1ull << 60);
  std::optional<BlockMap::Place> place;
  if (!absurd) place = a.map.take(size);
  if (!place && !absurd) place = a.grow_or_release(size);
  if (!place) {
    const std::uint64_t wanted = absurd ? size_bytes : a.map.segment_bytes(size);
    throw OutOfMemory(a.out_of_memory_text(wanted), name, size_bytes, a.stats);
  }
  LiveBlock& block = a.live.emplace_back(
      LiveBlock{*place, a.next_id++, 1, size, std::string(name), use, a.live.end()});
  block.self = std::prev(a.live.end());
  ++a.stats.allocations;
  a.stats.allocated_bytes += block.size();
  a.bytes_of(use) += block.size();
  if (a.stats.allocated_bytes > a.stats.peak_allocated_bytes) {
    a.stats.peak_allocated_bytes = a.stats.allocated_bytes;
    a.peak_by_use = a.by_use;
  }
  a.stats.peak_reserved_bytes = std::max(a.stats.peak_reserved_bytes, a.stats.reserved_bytes);
  return {this, &block};
}

void CachingAllocator::empty_cache() { impl_->empty_cache(); }

void CachingAllocator::reset_peaks() {
  impl_->stats.peak_allocated_bytes = impl_->stats.allocated_bytes;
  impl_->peak_by_use = impl_->by_use;
  impl_->stats.peak_reserved_bytes = impl_->stats.reserved_bytes;
}

const MemoryStats& CachingAllocator::stats() const { return impl_->stats; }
const BytesByUse& CachingAllocator::allocated_by_use() const { return impl_->by_use; }
const BytesByUse& CachingAllocator::peak_by_use() const { return impl_->peak_by_use; }

}  // namespace nb
