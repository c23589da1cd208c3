// Scenarios of torch's and torch_npu's caching allocators; expected numbers follow their constants
// (512 B, 1 MiB, 2 MiB, 20 MiB, 10 MiB, 2 MiB; torch_npu pads by 32 B).
#include "model/device/memory.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace nb {
namespace {

constexpr std::uint64_t kKiB = 1024, kMiB = 1024 * kKiB, kGiB = 1024 * kMiB;

AllocatorRules npu_rules() {
  AllocatorRules rules;
  rules.padding_bytes = 32;
  rules.words = OutOfMemoryWords::kNpu;
  return rules;
}

TEST(CachingAllocator, RoundsTo512Bytes) {
  CachingAllocator a({}, {kGiB, 0});
  EXPECT_EQ(a.rounded(1), 512u);
  EXPECT_EQ(a.rounded(512), 512u);
  EXPECT_EQ(a.rounded(513), 1024u);
  EXPECT_EQ(a.rounded(0), 512u);
}

// Ascend/pytorch NPUCachingAllocator: a 512 B tensor occupies 1024 B, a 2 MiB tensor 2 MiB + 512 B.
TEST(CachingAllocator, NpuPadsEveryRequest) {
  CachingAllocator a(npu_rules(), {kGiB, 0});
  EXPECT_EQ(a.rounded(512), 1024u);
  EXPECT_EQ(a.rounded(2 * kMiB), 2 * kMiB + 512);
  EXPECT_EQ(a.rounded(480), 512u);
}

TEST(CachingAllocator, ReservesSegmentsBySize) {
  const auto reserved = [](std::uint64_t size) {
    CachingAllocator a({}, {kGiB, 0});
    const BlockHandle block = a.allocate(size, "x");
    return a.stats().reserved_bytes;
  };
  EXPECT_EQ(reserved(1), 2 * kMiB);
  EXPECT_EQ(reserved(kMiB), 2 * kMiB);
  EXPECT_EQ(reserved(kMiB + 1), 20 * kMiB);
  EXPECT_EQ(reserved(10 * kMiB - 512), 20 * kMiB);
  EXPECT_EQ(reserved(10 * kMiB), 10 * kMiB);
  EXPECT_EQ(reserved(11 * kMiB), 12 * kMiB);
}

TEST(CachingAllocator, SplitsASegmentAmongRequests) {
  CachingAllocator a({}, {kGiB, 0});
  const BlockHandle x = a.allocate(512 * kKiB, "x");
  const BlockHandle y = a.allocate(512 * kKiB, "y");
  EXPECT_EQ(a.stats().segments_made, 1u);
  EXPECT_EQ(y.address(), x.address() + 512 * kKiB);
  EXPECT_EQ(a.stats().allocated_bytes, kMiB);
}

// A large block is split only when more than 1 MiB is left; else the whole of it counts as
// allocated.
TEST(CachingAllocator, KeepsASmallRestOfALargeBlock) {
  CachingAllocator a({}, {kGiB, 0});
  const BlockHandle x = a.allocate(11 * kMiB, "x");
  EXPECT_EQ(x.size_bytes(), 12 * kMiB);
  EXPECT_EQ(a.stats().allocated_bytes, 12 * kMiB);
  const BlockHandle y = a.allocate(19 * kMiB / 2, "y");
  EXPECT_EQ(y.size_bytes(), 19 * kMiB / 2);
}

TEST(CachingAllocator, ReusesTheSmallestBlockThatFits) {
  CachingAllocator a({}, {kGiB, 0});
  BlockHandle big = a.allocate(64 * kMiB, "big");
  BlockHandle fit = a.allocate(32 * kMiB, "fit");
  const std::uint64_t address = fit.address();
  big.reset();
  fit.reset();
  const BlockHandle again = a.allocate(31 * kMiB, "again");
  EXPECT_EQ(again.address(), address);
  EXPECT_EQ(a.stats().segments_made, 2u);
}

TEST(CachingAllocator, MergesFreedNeighbours) {
  CachingAllocator a({}, {kGiB, 0});
  BlockHandle x = a.allocate(4 * kMiB, "x"), y = a.allocate(4 * kMiB, "y"),
              z = a.allocate(4 * kMiB, "z");
  EXPECT_EQ(a.stats().segments_made, 1u);
  const std::uint64_t start = x.address();
  x.reset();
  z.reset();
  y.reset();
  EXPECT_EQ(a.allocate(9 * kMiB, "w").address(), start);
  EXPECT_EQ(a.stats().segments_made, 1u);
}

TEST(CachingAllocator, TheLastHolderFreesABlock) {
  CachingAllocator a({}, {kGiB, 0});
  BlockHandle x = a.allocate(kMiB, "x");
  BlockHandle y = x;
  x.reset();
  EXPECT_EQ(a.stats().allocated_bytes, kMiB);
  y.reset();
  EXPECT_EQ(a.stats().allocated_bytes, 0u);
}

TEST(CachingAllocator, PeaksStayUntilReset) {
  CachingAllocator a({}, {kGiB, 0});
  a.allocate(100 * kMiB, "x").reset();
  EXPECT_EQ(a.stats().peak_allocated_bytes, 100 * kMiB);
  EXPECT_EQ(a.stats().peak_reserved_bytes, 100 * kMiB);
  a.empty_cache();
  a.reset_peaks();
  EXPECT_EQ(a.stats().peak_allocated_bytes, 0u);
  EXPECT_EQ(a.stats().peak_reserved_bytes, 0u);
}

TEST(CachingAllocator, EmptiesTheCacheBeforeGivingUp) {
  CachingAllocator a({}, {100 * kMiB, 0});
  a.allocate(60 * kMiB, "x").reset();
  const BlockHandle y = a.allocate(80 * kMiB, "y");
  EXPECT_EQ(a.stats().retries, 1u);
  EXPECT_EQ(a.stats().reserved_bytes, 80 * kMiB);
}

// Free memory in two segments does not serve one request: 60 MiB are free and 40 MiB do not fit.
TEST(CachingAllocator, FragmentedMemoryRunsOut) {
  CachingAllocator a({}, {100 * kMiB, 0});
  std::vector<BlockHandle> blocks;
  for (int i = 0; i < 5; ++i) blocks.push_back(a.allocate(10 * kMiB, "a"));
  BlockHandle half = a.allocate(48 * kMiB, "half");
  half.reset();
  const BlockHandle corner = a.allocate(12 * kMiB, "corner");  // of the 48 MiB segment
  EXPECT_EQ(corner.size_bytes(), 12 * kMiB);
  blocks[0].reset();
  blocks[1].reset();
  EXPECT_THROW(a.allocate(40 * kMiB, "b"), OutOfMemory);
}

TEST(CachingAllocator, ReserveIsNotAvailable) {
  CachingAllocator a({}, {100 * kMiB, 30 * kMiB});
  EXPECT_THROW(a.allocate(80 * kMiB, "x"), OutOfMemory);
  EXPECT_NO_THROW(a.allocate(70 * kMiB, "x"));
}

// Ascend/pytorch, exact text (LlamaFactory#5491 shows 386.00 MiB of 60.97 GiB).
TEST(CachingAllocator, NpuSaysItInItsOwnWords) {
  CachingAllocator a(npu_rules(), {static_cast<std::uint64_t>(60.97 * 1073741824.0), 200 * kMiB},
                     2);
  const BlockHandle x = a.allocate(60 * kGiB, "x");
  try {
    a.allocate(5 * kGiB, "h.3.mlp.c_fc");
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(std::string(e.what()),
              "NPU out of memory. Tried to allocate 5.00 GiB (NPU 2; 60.97 GiB total capacity; "
              "60.00 GiB already allocated; 60.00 GiB current active; 791.28 MiB free; 60.00 GiB "
              "reserved in total by PyTorch).If reserved memory is >> allocated memory try setting "
              "max_split_size_mb to avoid fragmentation.");
    EXPECT_EQ(e.tensor(), "h.3.mlp.c_fc");
    EXPECT_EQ(e.requested_bytes(), 5 * kGiB);
  }
}

TEST(CachingAllocator, CudaSaysItInItsOwnWords) {
  CachingAllocator a({}, {10 * kGiB, kGiB}, 0);
  const BlockHandle x = a.allocate(6 * kGiB, "x");
  BlockHandle y = a.allocate(kGiB, "y");
  const BlockHandle corner = [&] {
    y.reset();
    return a.allocate(20 * kMiB, "corner");
  }();
  try {
    a.allocate(4 * kGiB, "z");
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_EQ(
        std::string(e.what()),
        "CUDA out of memory. Tried to allocate 4.00 GiB. GPU 0 has a total capacity of 10.00 "
        "GiB of which 2.00 GiB is free. Including non-PyTorch memory, this process has 8.00 GiB "
        "memory in use. Of the allocated memory 6.02 GiB is allocated by PyTorch, and 1004.00 "
        "MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is "
        "large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.  See documentation for Memory Management  "
        "(https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)");
  }
}

TEST(CachingAllocator, AnAbsurdRequestIsOutOfMemoryToo) {
  CachingAllocator a({}, {kGiB, 0});
  EXPECT_THROW(a.allocate(~std::uint64_t{0} - 100, "x"), OutOfMemory);
  EXPECT_EQ(a.stats().allocated_bytes, 0u);
}

AllocatorRules expandable() {
  AllocatorRules rules;
  rules.expandable_segments = true;
  return rules;
}

TEST(ExpandableSegments, GrowInGranulesOf20MiB) {
  CachingAllocator a(expandable(), {kGiB, 0});
  const BlockHandle x = a.allocate(15 * kMiB, "x");
  EXPECT_EQ(a.stats().reserved_bytes, 20 * kMiB);
  EXPECT_EQ(x.size_bytes(), 15 * kMiB);
  const BlockHandle y = a.allocate(15 * kMiB, "y");  // 5 MiB left of the first granule, one more
  EXPECT_EQ(y.address(), x.address() + 15 * kMiB);
  EXPECT_EQ(a.stats().reserved_bytes, 40 * kMiB);
}

// The case that fixed segments lose: neighbours freed one by one serve a larger request.
TEST(ExpandableSegments, DoNotFragmentWhereFixedOnesDo) {
  const auto fits = [](const AllocatorRules& rules) {
    CachingAllocator a(rules, {100 * kMiB, 0});
    std::vector<BlockHandle> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(a.allocate(10 * kMiB, "a"));
    const BlockHandle last = a.allocate(20 * kMiB, "last");
    for (int i = 0; i < 4; ++i) blocks[static_cast<std::size_t>(i)].reset();
    try {
      a.allocate(40 * kMiB, "b");
      return a.stats().retries;
    } catch (const OutOfMemory&) {
      return std::uint64_t{99};
    }
  };
  EXPECT_EQ(fits(expandable()), 0u);
  EXPECT_EQ(fits({}), 1u);  // only by giving segments back
}

TEST(ExpandableSegments, EmptyCacheUnmapsWholeGranules) {
  CachingAllocator a(expandable(), {kGiB, 0});
  const BlockHandle x = a.allocate(10 * kMiB, "x");
  BlockHandle y = a.allocate(60 * kMiB, "y");
  const BlockHandle z = a.allocate(10 * kMiB, "z");
  EXPECT_EQ(a.stats().reserved_bytes, 80 * kMiB);
  y.reset();  // 10 to 70 MiB: granules 20 to 40 and 40 to 60 are unused
  a.empty_cache();
  EXPECT_EQ(a.stats().reserved_bytes, 40 * kMiB);
  const BlockHandle w = a.allocate(30 * kMiB, "w");  // maps them again, in the hole
  EXPECT_EQ(w.address(), x.address() + 10 * kMiB);
  EXPECT_EQ(a.stats().reserved_bytes, 60 * kMiB);
}

TEST(ExpandableSegments, RunOutAtTheCapacity) {
  CachingAllocator a(expandable(), {100 * kMiB, 0});
  const BlockHandle x = a.allocate(70 * kMiB, "x");
  EXPECT_THROW(a.allocate(40 * kMiB, "y"), OutOfMemory);
  EXPECT_NO_THROW(a.allocate(20 * kMiB, "z"));
}

TEST(CachingAllocator, SnapshotAddsUp) {
  CachingAllocator a({}, {kGiB, 0});
  const BlockHandle x = a.allocate(3 * kMiB, "x"), y = a.allocate(kKiB, "y");
  std::uint64_t total = 0, live = 0;
  const Json segments = a.snapshot();
  for (const Json& segment : segments) {
    total += segment["size"].get<std::uint64_t>();
    for (const Json& block : segment["blocks"]) {
      if (block["state"] == "live") live += block["size"].get<std::uint64_t>();
    }
  }
  EXPECT_EQ(segments.size(), 2u);
  EXPECT_EQ(total, a.stats().reserved_bytes);
  EXPECT_EQ(live, a.stats().allocated_bytes);
}

}  // namespace
}  // namespace nb
