// Options of the caching allocator: what torch_npu and torch say to them, and traces of what they
// do, reasoned by hand from the frameworks' rules (NPUCachingAllocator.cpp,
// CUDACachingAllocator.cpp).
#include "model/device/alloc_conf.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "model/device/memory.hpp"
#include "model/device/profile.hpp"

namespace nb {
namespace {

constexpr std::uint64_t kOneMiB = 1u << 20;
constexpr auto kNpuWords = OutOfMemoryWords::kNpu;
constexpr auto kCudaWords = OutOfMemoryWords::kCuda;

std::string complaint(const std::string& text, OutOfMemoryWords words = kNpuWords) {
  const auto conf = parse_alloc_conf(text, words, "conf");
  return conf ? "" : conf.error().message;
}

TEST(AllocConf, ReadsTheDocumentedExamples) {
  const auto both =
      parse_alloc_conf("max_split_size_mb:32,garbage_collection_threshold:0.6", kNpuWords, "conf");
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(*both->max_split_bytes, 32 * kOneMiB);
  EXPECT_EQ(*both->garbage_collection, 0.6);
  EXPECT_FALSE(both->expandable_segments);
  const auto growing = parse_alloc_conf(" expandable_segments : True ,", kNpuWords, "conf");
  ASSERT_TRUE(growing) << growing.error().message;
  EXPECT_TRUE(*growing->expandable_segments);
  EXPECT_TRUE(parse_alloc_conf("", kNpuWords, "conf"));
  EXPECT_EQ(*parse_alloc_conf("max_split_size_mb:21", kNpuWords, "conf")->max_split_bytes,
            21 * kOneMiB);
}

TEST(AllocConf, ComplainsAsTheFrameworksDo) {
  const std::pair<const char*, const char*> cases[] = {
      {"max_split_size_mb:20",
       "conf: max_split_size_mb:20: CachingAllocator option max_split_size_mb too small, must be "
       "> 20"},
      {"max_split_size_mb:-1", "not a whole number of MB"},
      {"max_split_size_mb:64MB", "not a whole number of MB"},
      {"max_split_size_mb:99999999999999999999", "not a whole number of MB"},
      {"garbage_collection_threshold:0.0", "garbage_collect_threshold too small, set it 0.0~1.0"},
      {"garbage_collection_threshold:1", "garbage_collect_threshold too big, set it 0.0~1.0"},
      {"garbage_collection_threshold:nan", "garbage_collect_threshold too small"},
      {"garbage_collection_threshold:most", "is not a number"},
      {"expandable_segments:true", "Expected a single True/False argument for expandable_segments"},
      {"per_process_memory_fraction:1.5",
       "per_process_memory_fraction is invalid, set it in [0.0, 1.0]"},
      {"max_split_size_mb:", "Error, expecting max_split_size_mb value"},
      {"max_split_size_mb", "is not key:value"},
      {":3", "is not key:value"},
      {"max_split_size:64",
       "Unrecognized CachingAllocator option: max_split_size; did you mean \"max_split_size_mb\"?"},
      {"page_size:1g", "the frameworks know it, this device does not model it"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_NE(complaint(text).find(expected), std::string::npos) << text << ": " << complaint(text);
  EXPECT_NE(complaint("max_split_size_mb:64", OutOfMemoryWords::kCpu).find("CPU"),
            std::string::npos);
}

// torch_npu alone refuses the two together; torch takes them.
TEST(AllocConf, ExpandableSegmentsExcludeTheOthersOnNpusOnly) {
  for (const char* text : {"max_split_size_mb:64,expandable_segments:True",
                           "expandable_segments:True,garbage_collection_threshold:0.8"}) {
    EXPECT_EQ(complaint(text),
              "conf: `max_split_size_mb` or `garbage_collection_threshold`, cannot be enabled with "
              "`expandable_segments`, please set `expandable_segments` to `False`.");
    EXPECT_EQ(complaint(text, kCudaWords), "");
  }
  EXPECT_EQ(complaint("max_split_size_mb:64,expandable_segments:False"), "");
  // On by default, they give way.
  AllocatorRules growing;
  growing.expandable_segments = true;
  growing.words = kNpuWords;
  AllocConf split;
  split.max_split_bytes = 64 * kOneMiB;
  EXPECT_FALSE(with_alloc_conf(growing, split).expandable_segments);
  growing.words = kCudaWords;
  EXPECT_TRUE(with_alloc_conf(growing, split).expandable_segments);
}

TEST(AllocConf, GarbageIsCollectedOnlyWithAMemoryFraction) {
  AllocConf conf;
  conf.garbage_collection = 0.8;
  EXPECT_EQ(with_alloc_conf({}, conf).garbage_collection, 0);
  EXPECT_NE(alloc_conf_note(conf), "");
  conf.memory_fraction = 1.0;
  EXPECT_EQ(with_alloc_conf({}, conf).garbage_collection, 0.8);
  EXPECT_EQ(alloc_conf_note(conf), "");
}

AllocatorRules split_limit(std::uint64_t mib) {
  AllocatorRules rules;
  rules.max_split_bytes = mib * kOneMiB;
  return rules;
}
std::uint64_t reserved_mib(const CachingAllocator& a) { return a.stats().reserved_bytes / kOneMiB; }

// A free block of 100 MiB: 40 MiB are cut from it, but not above the limit.
TEST(AllocatorSplitLimit, LargeBlocksAreNotSplit) {
  for (const auto& [rules, expected] :
       {std::pair{AllocatorRules{}, 100u}, std::pair{split_limit(64), 140u}}) {
    CachingAllocator a(rules, {1024 * kOneMiB, 0});
    a.allocate(100 * kOneMiB, "x").reset();
    const BlockHandle y = a.allocate(40 * kOneMiB, "y");
    EXPECT_EQ(reserved_mib(a), expected);
    EXPECT_EQ(y.size_bytes(), 40 * kOneMiB);
  }
}

// Above the limit a block serves requests that are less than 20 MiB smaller, as a whole.
TEST(AllocatorSplitLimit, LargeRequestsTakeWholeBlocksOfNearlyTheirSize) {
  CachingAllocator near(split_limit(64), {1024 * kOneMiB, 0});
  near.allocate(100 * kOneMiB, "x").reset();
  const BlockHandle y = near.allocate(81 * kOneMiB, "y");
  EXPECT_EQ(y.size_bytes(), 100 * kOneMiB);
  EXPECT_EQ(reserved_mib(near), 100u);
  CachingAllocator far(split_limit(64), {1024 * kOneMiB, 0});
  far.allocate(100 * kOneMiB, "x").reset();
  const BlockHandle z = far.allocate(80 * kOneMiB, "z");
  EXPECT_EQ(z.size_bytes(), 80 * kOneMiB);
  EXPECT_EQ(reserved_mib(far), 180u);
}

// 90 + 100 + 110 MiB are free and the device is full. 200 MiB: no block is large enough, so the
// largest go until there are 200; the 90 stay. Without a limit everything goes.
TEST(AllocatorSplitLimit, TheLargestBlocksGoBackUntilThereIsRoom) {
  for (const auto& [rules, expected, retries] :
       {std::tuple{split_limit(64), 290u, 0u}, std::tuple{AllocatorRules{}, 200u, 1u}}) {
    CachingAllocator a(rules, {300 * kOneMiB, 0});
    {
      const BlockHandle x = a.allocate(90 * kOneMiB, "x"), y = a.allocate(100 * kOneMiB, "y"),
                        z = a.allocate(110 * kOneMiB, "z");
    }
    const BlockHandle w = a.allocate(200 * kOneMiB, "w");
    EXPECT_EQ(reserved_mib(a), expected);
    EXPECT_EQ(a.stats().retries, retries);
  }
}

// 30 + 100 + 110 MiB are free: those below the limit are split for others and stay.
TEST(AllocatorSplitLimit, BlocksBelowTheLimitStayWhereTheLargestAreEnough) {
  CachingAllocator a(split_limit(64), {240 * kOneMiB, 0});
  {
    const BlockHandle x = a.allocate(30 * kOneMiB, "x"), y = a.allocate(100 * kOneMiB, "y"),
                      z = a.allocate(110 * kOneMiB, "z");
  }
  const BlockHandle w = a.allocate(200 * kOneMiB, "w");
  EXPECT_EQ(reserved_mib(a), 230u);
  EXPECT_EQ(a.stats().retries, 0u);
}

// 30 MiB: none of the same blocks may serve it; the smallest above the limit goes back.
TEST(AllocatorSplitLimit, OneBlockThatIsLargeEnoughGoesBackAlone) {
  CachingAllocator a(split_limit(64), {300 * kOneMiB, 0});
  {
    const BlockHandle x = a.allocate(90 * kOneMiB, "x"), y = a.allocate(100 * kOneMiB, "y"),
                      z = a.allocate(110 * kOneMiB, "z");
  }
  const BlockHandle w = a.allocate(30 * kOneMiB, "w");
  EXPECT_EQ(reserved_mib(a), 100u + 110 + 30);
  EXPECT_EQ(a.stats().retries, 0u);
}

AllocatorRules collecting(double threshold) {
  AllocatorRules rules;
  rules.garbage_collection = threshold;
  return rules;
}

// x, y of 40 MiB, z of 10 MiB; x is freed, w of 60 MiB made, y is freed; 150 of 200 MiB are
// reserved. v of 41 MiB (a segment of 42) finds no block. x has waited for two searches (w's and
// v's), y for one: mean 1.5.
struct Waiting {
  BlockHandle y, z, w;
};
Waiting fill(CachingAllocator& a) {
  BlockHandle x = a.allocate(40 * kOneMiB, "x");
  Waiting kept;
  kept.y = a.allocate(40 * kOneMiB, "y");
  kept.z = a.allocate(10 * kOneMiB, "z");
  x.reset();
  kept.w = a.allocate(60 * kOneMiB, "w");
  kept.y.reset();
  return kept;
}

TEST(AllocatorGarbage, BlocksThatWaitedLongestGoFirst) {
  struct Expected {
    double threshold;
    std::uint64_t reserved;
  };
  for (const Expected& e : {Expected{0, 150 + 42},      // off
                            Expected{0.9, 150 + 42},    // 150 are not above 180
                            Expected{0.6, 110 + 42},    // 30 are wanted: x is enough
                            Expected{0.5, 70 + 42}}) {  // 50 are wanted: x, then y
    CachingAllocator a(collecting(e.threshold), {200 * kOneMiB, 0});
    const Waiting kept = fill(a);
    ASSERT_EQ(reserved_mib(a), 150u);
    const BlockHandle v = a.allocate(41 * kOneMiB, "v");
    EXPECT_EQ(reserved_mib(a), e.reserved) << e.threshold;
    EXPECT_EQ(a.stats().retries, 0u);
  }
}

// The rest of a block that was split is nobody's garbage while its neighbour lives.
TEST(AllocatorGarbage, PartsOfSegmentsStay) {
  CachingAllocator a(collecting(0.1), {400 * kOneMiB, 0});
  a.allocate(100 * kOneMiB, "x").reset();
  const BlockHandle part = a.allocate(40 * kOneMiB, "part");  // of x: 60 MiB are left
  const BlockHandle large = a.allocate(80 * kOneMiB, "large");
  EXPECT_EQ(reserved_mib(a), 180u);
}

TEST(AllocatorGarbage, AgesSurviveACheckpoint) {
  CachingAllocator a(collecting(0.6), {200 * kOneMiB, 0});
  const Waiting kept = fill(a);
  CachingAllocator b(collecting(0.6), {200 * kOneMiB, 0});
  const BlockHandle z = b.allocate(10 * kOneMiB, "z"), w = b.allocate(60 * kOneMiB, "w");
  const auto restored = b.restore(a.state());
  ASSERT_TRUE(restored) << restored.error().message;
  const BlockHandle v = a.allocate(41 * kOneMiB, "v"), v_again = b.allocate(41 * kOneMiB, "v");
  EXPECT_EQ(a.stats(), b.stats());
  EXPECT_EQ(a.snapshot(), b.snapshot());
  EXPECT_EQ(reserved_mib(b), 110u + 42);
}

TEST(AllocatorFraction, WhatIsAllowedRunsOutBeforeTheDeviceDoes) {
  AllocatorRules rules;
  rules.words = kNpuWords;
  rules.memory_fraction = 0.5;
  CachingAllocator a(rules, {100 * kOneMiB, 0});
  const BlockHandle x = a.allocate(40 * kOneMiB, "x");
  try {
    a.allocate(20 * kOneMiB, "y");
    FAIL();
  } catch (const OutOfMemory& e) {
    EXPECT_NE(std::string(e.what()).find("60.00 MiB free; 50.00 MiB allowed; 40.00 MiB reserved"),
              std::string::npos)
        << e.what();
  }
}

Result<DeviceProfile> with_conf(const std::string& device, const std::string& text) {
  Json json = *load_profile_json(device);
  json["software"]["alloc_conf"] = {{"value", text}, {"source", "assumed: a test"}};
  return parse_profile(json, "p.json");
}

TEST(AllocConf, StandsInStacksAndIsCheckedThere) {
  const auto split = with_conf("ascend_910b3", "max_split_size_mb:128");
  ASSERT_TRUE(split) << split.error().message;
  EXPECT_EQ(split->allocator_rules().max_split_bytes, 128 * kOneMiB);
  const auto wrong = with_conf("ascend_910b3", "max_split_size_mb:4");
  ASSERT_FALSE(wrong);
  EXPECT_TRUE(wrong.error().message.starts_with("p.json: /software/alloc_conf/value: "))
      << wrong.error().message;
  const auto growing = with_conf("ascend_910b3", "expandable_segments:True");
  ASSERT_TRUE(growing);
  EXPECT_TRUE(growing->allocator_rules().expandable_segments);
  DeviceProfile given = *load_profile("ascend_910b3");
  EXPECT_EQ(given.allocator_rules().max_split_bytes, ~std::uint64_t{0});
  ASSERT_TRUE(set_alloc_conf(given, "max_split_size_mb:32", "--alloc-conf"));
  EXPECT_EQ(given.allocator_rules().max_split_bytes, 32 * kOneMiB);
  EXPECT_FALSE(set_alloc_conf(given, "max_split", "--alloc-conf"));
}

}  // namespace
}  // namespace nb
