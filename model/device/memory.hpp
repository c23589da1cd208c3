// The simulated caching allocator, after torch's CUDACachingAllocator and torch_npu's
// NPUCachingAllocator: rounding, small and large pools, segments, splitting and merging, best fit,
// release of cached segments and retry, out of memory in the device's own words. Addresses are
// simulated; no host memory is touched. Knows nothing of tensors or time. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

// "cuda", "npu", "cpu" in profiles: whose words an out-of-memory error speaks.
enum class OutOfMemoryWords { kCuda, kNpu, kCpu };

struct AllocatorRules {
  std::uint64_t padding_bytes = 0;     // added to every request before rounding (torch_npu: 32)
  std::uint64_t rounding_bytes = 512;  // kMinBlockSize
  std::uint64_t small_limit_bytes = 1u << 20;  // requests up to this come from the small pool
  std::uint64_t small_segment_bytes = 2u << 20;
  std::uint64_t large_segment_bytes = 20u << 20;  // for requests below large_limit
  std::uint64_t large_limit_bytes = 10u << 20;    // from here a segment of its own, rounded to
  std::uint64_t large_rounding_bytes = 2u << 20;
  std::uint64_t large_split_remainder_bytes =
      1u << 20;                      // a large block is split when more than this is left
  bool expandable_segments = false;  // one growing segment a pool, mapped in segment_bytes granules
  // Blocks from here on are not split, serve no smaller request, and go back to the device one by
  // one before the whole cache does. The largest number: no limit.
  std::uint64_t max_split_bytes = ~std::uint64_t{0};
  // Above this share of what the process may have, free blocks that waited longest go back to the
  // device before a new one is made; 0: off.
  double garbage_collection = 0;
  double memory_fraction = 1;  // of the capacity that this process may have
  OutOfMemoryWords words = OutOfMemoryWords::kCuda;
};

// What a block holds.
enum class BlockUse : std::uint8_t {
  kActivation,  // what forward and backward hand on, kept for backward or not
  kWorkspace,   // of one op while it runs
  kParameter,
  kGradient,
  kOptimizer,  // moments, momentum
  kCache       // keys and values
};
inline constexpr std::size_t kBlockUses = 6;
std::string_view name(BlockUse use);
using BytesByUse = std::array<std::uint64_t, kBlockUses>;

struct MemoryBudget {
  std::uint64_t capacity_bytes = 0;  // what the framework prints as total capacity
  std::uint64_t reserve_bytes = 0;   // driver context and communicator buffers: never ours
};

// As torch.cuda.memory_stats: allocated counts rounded blocks in use, reserved counts segments.
struct MemoryStats {
  std::uint64_t allocated_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t peak_allocated_bytes = 0;
  std::uint64_t peak_reserved_bytes = 0;
  std::uint64_t capacity_bytes = 0;
  std::uint64_t reserve_bytes = 0;
  std::uint64_t allocations = 0;    // blocks handed out so far
  std::uint64_t segments_made = 0;  // device mallocs so far
  std::uint64_t retries = 0;        // times the cache was emptied to satisfy a request
  bool operator==(const MemoryStats&) const = default;
};

// Simulated out of memory; what() is the device's own text.
class OutOfMemory : public std::runtime_error {
 public:
  OutOfMemory(const std::string& text, std::string_view tensor, std::uint64_t requested_bytes,
              const MemoryStats& stats);
  const std::string& tensor() const { return tensor_; }  // whose request failed
  std::uint64_t requested_bytes() const { return requested_bytes_; }
  const MemoryStats& stats() const { return stats_; }

 private:
  std::string tensor_;
  std::uint64_t requested_bytes_;
  MemoryStats stats_;
};

class CachingAllocator;
struct LiveBlock;

// Shared ownership of one allocated block; the last holder frees it. Must die before the allocator.
class BlockHandle {
 public:
  BlockHandle() = default;
  BlockHandle(const BlockHandle& other);
  BlockHandle(BlockHandle&& other) noexcept;
  BlockHandle& operator=(BlockHandle other) noexcept;
  ~BlockHandle();
  bool held() const { return allocator_ != nullptr; }
  std::uint64_t id() const;          // unique within the allocator, never reused; 0: holds none
  std::uint64_t size_bytes() const;  // rounded
  std::uint64_t address() const;     // simulated
  void reset() noexcept;

 private:
  friend class CachingAllocator;
  BlockHandle(CachingAllocator* allocator, LiveBlock* block)
      : allocator_(allocator), block_(block) {}
  CachingAllocator* allocator_ = nullptr;
  LiveBlock* block_ = nullptr;
};

class CachingAllocator {
 public:
  // device_index: the number in the out-of-memory text.
  CachingAllocator(const AllocatorRules& rules, const MemoryBudget& budget, int device_index = 0);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Throws OutOfMemory. A request of 0 bytes takes one rounding unit, as in torch. `name` is kept
  // for errors and checkpoints.
  BlockHandle allocate(std::uint64_t size_bytes, std::string_view name,
                       BlockUse use = BlockUse::kActivation);
  std::uint64_t rounded(std::uint64_t size_bytes) const;
  const AllocatorRules& rules() const;
  void empty_cache();  // gives unused segments (granules, when expandable) back to the device
  void reset_peaks();

  const MemoryStats& stats() const;
  // What the bytes of stats() that are allocated hold: now, and when peak_allocated_bytes was
  // reached (the first time; of a restored allocator: since then).
  const BytesByUse& allocated_by_use() const;
  const BytesByUse& peak_by_use() const;
  // One entry a segment: {address, size, pool, blocks}, for pictures and tests.
  Json snapshot() const;

  // Layout, statistics and the order of handles: everything that later addresses and peaks depend
  // on.
  Json state() const;
  // Into an allocator whose live blocks are those of the saved one (same names and sizes, made in
  // the same order): an error says which block differs, and nothing is changed.
  Result<void> restore(const Json& state);

 private:
  friend class BlockHandle;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace nb
