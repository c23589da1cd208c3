#include "model/device/block_map.hpp"

#include <gtest/gtest.h>

#include <map>

#include "harness/base/rng.hpp"

namespace nb {
namespace {

constexpr std::uint64_t kMappedMiB = 1u << 20;

// After any sequence of requests: segments have no gaps, free neighbours are merged, live blocks
// are as large as asked and where their places say, and what is mapped is what grow and release
// said.
void check_random_life(const AllocatorRules& rules, std::uint64_t seed) {
  BlockMap map(rules, 1024 * kMappedMiB);
  const Rng rng(seed, "block_map_test");
  struct Live {
    std::uint64_t asked;
    BlockMap::Place place;
  };
  std::map<std::uint64_t, Live> live;  // by address
  std::uint64_t mapped = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    const std::uint64_t what = rng.below(3 * i, 100);
    if (what < 55) {
      const std::uint64_t scale = std::uint64_t{512} << rng.below(3 * i + 1, 16);
      const std::uint64_t size = (1 + rng.below(3 * i + 2, 64)) * 512 / 512 * scale;
      auto place = map.take(size);
      if (!place) {
        mapped += map.growth_bytes(size);
        place = map.grow(size);
      }
      ASSERT_TRUE(live.emplace((*place)->first, Live{size, *place}).second);
    } else if (what < 98 && !live.empty()) {
      auto it = live.begin();
      std::advance(it, static_cast<long>(rng.below(3 * i + 1, live.size())));
      map.give(it->second.place);
      live.erase(it);
    } else if (what >= 98) {
      mapped -= map.release_unused();
    }
    std::uint64_t end = 0, segment = 0, is_mapped = 0;
    BlockState before = BlockState::kLive;
    std::size_t count = 0;
    for (const auto& [address, block] : map.blocks()) {
      const bool joins = block.segment == segment;
      ASSERT_TRUE(block.segment == address || (joins && address == end)) << i;
      if (joins && address == end && address != block.segment) {
        ASSERT_FALSE(before == BlockState::kFree && block.state == BlockState::kFree) << i;
        ASSERT_FALSE(before == BlockState::kUnmapped && block.state == BlockState::kUnmapped) << i;
      }
      if (block.state == BlockState::kLive) {
        const auto known = live.find(address);
        ASSERT_TRUE(known != live.end() && block.size >= known->second.asked) << i;
        ASSERT_EQ(&known->second.place->second, &block) << i;
        ++count;
      }
      if (block.state != BlockState::kUnmapped) is_mapped += block.size;
      segment = block.segment;
      end = address + block.size;
      before = block.state;
    }
    ASSERT_EQ(count, live.size()) << i;
    ASSERT_EQ(is_mapped, mapped) << i;
  }
}

TEST(BlockMap, KeepsItsInvariantsWithFixedSegments) {
  for (const std::uint64_t seed : {1, 2, 3}) check_random_life({}, seed);
}

TEST(BlockMap, KeepsItsInvariantsWithExpandableSegments) {
  AllocatorRules rules;
  rules.expandable_segments = true;
  for (const std::uint64_t seed : {1, 2, 3}) check_random_life(rules, seed);
}

// torch's get_free_block: a free block at the growing end counts with all that it can grow to.
TEST(BlockMap, AnExpandableSegmentKeepsItsEndFree) {
  AllocatorRules rules;
  rules.expandable_segments = true;
  BlockMap map(rules, 1024 * kMappedMiB);
  const auto first = map.grow(9 * kMappedMiB);  // maps 20 MiB
  const auto second = map.take(3 * kMappedMiB);
  ASSERT_TRUE(second.has_value());
  const std::uint64_t begin = first->first;
  EXPECT_EQ((*second)->first, begin + 9 * kMappedMiB);
  map.give(first);
  const auto third = map.take(8 * kMappedMiB);  // the end has just as much, the hole more
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ((*third)->first, begin);
}

TEST(BlockMap, RefusesLayoutsThatDoNotFit) {
  BlockMap map({}, 1024 * kMappedMiB);
  const std::uint64_t base = map.next_address();
  const Block whole{2 * kMappedMiB, base, PoolKind::kSmall, BlockState::kFree};
  EXPECT_TRUE(map.assign({{base, whole}}, base + 2 * kMappedMiB));
  EXPECT_FALSE(map.assign({{base, whole}}, base));  // beyond the end
  EXPECT_FALSE(
      map.assign({{base, whole}, {base + kMappedMiB, whole}}, base + 8 * kMappedMiB));  // overlap
  Block second = whole;
  second.size = kMappedMiB;
  EXPECT_FALSE(
      map.assign({{base, second}, {base + 2 * kMappedMiB, whole}}, base + 8 * kMappedMiB));  // gap
  EXPECT_EQ(map.blocks().size(), 1u);
}

}  // namespace
}  // namespace nb
