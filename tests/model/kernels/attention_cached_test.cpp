// A ragged batch over cached keys has the bits of one pass over each sequence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "tests/model/kernels/cached_attention.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::batch_equals_one_pass;
using test::Bf16Segment;
using test::Chunk;
using test::expect_batch;
using test::kCachedPolicies;
using test::kHeads;
using test::narrow;
using test::Story;
using test::Values;
using test::wide;
using test::windowed;

TEST(AttentionCached, ChunksOfAnySizeEqualOnePass) {
  for (const MatmulPolicy& policy : kCachedPolicies) {
    const Story s = story(41, 1, Values::kOrdinary, policy);
    test::at_every_level([&] {
      for (const std::int64_t size : {1, 2, 3, 13, 16, 17, 40, 41}) {
        for (std::int64_t first = 0; first < 41; first += size) {
          const std::int64_t count = std::min(size, 41 - first);
          ASSERT_TRUE(batch_equals_one_pass({{&s, first, count, {41}}}, policy))
              << test::text(policy) << " chunk " << first << " + " << count;
        }
      }
    });
  }
}

TEST(AttentionCached, KeysInSegmentsOfAnyLengthEqualOnePass) {
  for (const MatmulPolicy& policy : kCachedPolicies) {
    const Story s = story(37, 4, Values::kOrdinary, policy);
    test::at_every_level([&] {
      for (const std::vector<std::int64_t>& cuts : std::vector<std::vector<std::int64_t>>{
               {1, 37}, {5, 6, 7, 37}, {16, 32, 37}, {0, 11, 11, 37}, {36, 37}, {15, 33, 37}}) {
        for (const std::int64_t first : {0, 7, 20, 36}) {
          ASSERT_TRUE(batch_equals_one_pass({{&s, first, 37 - first, cuts}}, policy));
        }
      }
    });
  }
}

TEST(AttentionCached, ABatchOfMixedSequencesEqualsOnePassOfEach) {
  for (const MatmulPolicy& policy : kCachedPolicies) {
    const Story a = story(70, 7, Values::kOrdinary, policy);
    const Story b = story(9, 10, Values::kOrdinary, policy);
    test::at_every_level([&] {
      EXPECT_TRUE(batch_equals_one_pass({{&a, 0, 70, {70}},
                                         {&b, 8, 1, {4, 9}},
                                         {&a, 69, 1, {64, 70}},
                                         {&b, 0, 0, {}},
                                         {&b, 0, 9, {9}},
                                         {&a, 33, 20, {33, 70}}},
                                        policy));
    });
  }
}

// So many that a piece of the loop takes several.
TEST(AttentionCached, ManyShortSequencesEqualOnePassOfEach) {
  const Story s = story(90, 16, Values::kBf16, {}, {.heads = 2, .kv_heads = 2, .head_dim = 128});
  std::vector<Chunk> chunks;
  for (std::int64_t i = 0; i < 75; ++i) chunks.push_back({&s, i + 5, 1, {1 + i % 5, 90}});
  test::at_every_level([&] { EXPECT_TRUE(batch_equals_one_pass(chunks, {})); });
}

TEST(AttentionCached, HardValuesEqualOnePass) {
  for (const MatmulPolicy& policy : kCachedPolicies) {
    for (const Values values : {Values::kFinite, Values::kNonFinite}) {
      const Story s = story(35, 16, values, policy);
      test::at_every_level([&] {
        EXPECT_TRUE(batch_equals_one_pass(
            {{&s, 0, 35, {35}}, {&s, 34, 1, {17, 35}}, {&s, 3, 9, {2, 35}}}, policy));
      });
    }
  }
}

// Tiles, panels and groups of keys of every level, whole and with tails; queries alone and many.
TEST(AttentionCached, HeadsOfManyWidthsEqualOnePass) {
  for (const CachedShape& heads : {CachedShape{.heads = 2, .kv_heads = 2, .head_dim = 128},
                                   CachedShape{.heads = 2, .kv_heads = 1, .head_dim = 64},
                                   CachedShape{.heads = 1, .kv_heads = 1, .head_dim = 33},
                                   CachedShape{.heads = 1, .kv_heads = 1, .head_dim = 1}}) {
    for (const MatmulPolicy& policy : {kCachedPolicies[0], kCachedPolicies[1]}) {
      const Story s = story(131, 25, Values::kFinite, policy, heads);
      test::at_every_level([&] {
        EXPECT_TRUE(batch_equals_one_pass({{&s, 0, 131, {131}},
                                           {&s, 130, 1, {67, 131}},
                                           {&s, 127, 4, {67, 131}},
                                           {&s, 67, 33, {67, 131}},
                                           {&s, 100, 16, {67, 131}},
                                           {&s, 100, 17, {67, 131}},
                                           {&s, 0, 1, {131}},
                                           {&s, 64, 1, {64, 131}}},
                                          policy))
            << "D " << heads.head_dim << ", " << test::text(policy);
      });
    }
  }
}

// Spare capacity behind the last position may hold anything.
TEST(AttentionCached, KeysBehindTheLastQueryAreNotRead) {
  Story s = story(30, 19, Values::kOrdinary, {});
  for (std::int64_t j = 21; j < 30; ++j) {
    for (std::int64_t d = 0; d < narrow(kHeads); ++d)
      s.k.view().row(j)[d] = s.v.view().row(j)[d] = NAN;
  }
  test::at_every_level([&] {
    EXPECT_TRUE(batch_equals_one_pass({{&s, 20, 1, {30}}, {&s, 0, 21, {8, 30}}}, {}));
  });
}

// An odd number of keys, of which the last one's values are not finite: the missing key of its pair
// adds nothing, not even zero times them.
TEST(AttentionCached, TheLastOfAnOddNumberOfKeysStandsAlone) {
  for (const std::int64_t dim : {32, 64, 128, 160}) {
    for (const std::int64_t keys : {1, 3, 35}) {
      const CachedShape shape = {.heads = 1, .kv_heads = 1, .head_dim = dim};
      const Array q = test::random_array(keys, dim, 1), k = test::random_array(keys, dim, 2);
      Array v = test::random_array(keys, dim, 3);
      for (std::int64_t d = 0; d < dim; d += 3) v.view().row(keys - 1)[d] = INFINITY;
      for (const MatmulPolicy& policy :
           {MatmulPolicy{}, MatmulPolicy{.inputs = DType::kFp32, .output = DType::kFp32}})
        expect_batch(q.view(), {{keys - 1, 1, {segment(k, v, 0, keys)}}}, shape, policy);
    }
  }
}

// In a thread of its own: working memory of the size that was asked for, no larger one of a kernel
// before. For sanitizers.
TEST(AttentionCached, WorkingMemoryOfSingleQueriesIsLargeEnough) {
  std::thread([] {
    set_threads(1);
    const CachedShape shape = {.heads = 1, .kv_heads = 1, .head_dim = 128};
    const Array q = test::random_array(301, 128, 1), k = test::random_array(301, 128, 2),
                v = test::random_array(301, 128, 3);
    Array out(1, 128);
    const std::vector<KeySegment> segments = {segment(k, v, 0, 301)};
    const std::vector<CachedSequence> sequences = {{0, 1, 300, segments}};
    attention_cached(row_block(q.view(), 300, 1), out.view(), sequences, shape, {});
    set_threads(0);
  }).join();
}

TEST(AttentionCached, ABatchThatDisagreesFailsTheCheck) {
  const Story s = story(8, 22, Values::kOrdinary, {});
  Array q(8, wide(kHeads)), out(8, wide(kHeads));
  const std::vector<KeySegment> whole = {segment(s.k, s.v, 0, 8)};
  const auto run = [&](const CachedSequence& sequence, const CachedShape& shape) {
    attention_cached(q.view(), out.view(), {&sequence, 1}, shape, {});
  };
  EXPECT_THROW(run({0, 8, 1, whole}, kHeads), CheckFailure);
  EXPECT_THROW(run({1, 8, 0, whole}, kHeads), CheckFailure);
  EXPECT_THROW(run({0, 1, 0, {}}, kHeads), CheckFailure);
  EXPECT_THROW(run({0, 8, 0, whole}, {.heads = 4, .kv_heads = 3, .head_dim = 6}), CheckFailure);
  EXPECT_THROW(run({0, 8, 0, whole}, {.heads = 4, .kv_heads = 1, .head_dim = 6}), CheckFailure);
  EXPECT_THROW(run({0, 8, 0, whole}, windowed(-1)), CheckFailure);
  EXPECT_NO_THROW(run({0, 8, 0, whole}, kHeads));
  const Bf16Segment bf16(whole.front(), kHeads, {});
  const CachedSequence sequence = {0, 8, 0, {&bf16.rows, 1}};
  EXPECT_NO_THROW(attention_cached(q.view(), out.view(), {&sequence, 1}, kHeads, {}));
  EXPECT_THROW(attention_cached(q.view(), out.view(), {&sequence, 1}, kHeads, kCachedPolicies[1]),
               CheckFailure);
}

TEST(AttentionCached, EachWayToDisagreeFailsTheCheck) {
  Array q(8, 24), out(8, 24), k(8, 12), v(8, 12), fewer(7, 12), narrower(8, 11);
  const auto run = [&](KeyRows keys, KeyRows values, CachedSequence s, Matrix to,
                       const MatmulPolicy& policy = {}) {
    const KeySegment segment = {keys, values};
    s.segments = {&segment, 1};
    attention_cached(q.view(), to, {&s, 1}, kHeads, policy);
  };
  EXPECT_NO_THROW(run(k.view(), v.view(), {0, 8, 0, {}}, out.view()));
  EXPECT_THROW(run(k.view(), fewer.view(), {0, 8, 0, {}}, out.view()), CheckFailure);
  EXPECT_THROW(run(k.view(), narrower.view(), {0, 8, 0, {}}, out.view()), CheckFailure);
  EXPECT_THROW(run(k.view(), v.view(), {-1, 8, 0, {}}, out.view()), CheckFailure);
  EXPECT_THROW(run(k.view(), v.view(), {0, 8, -1, {}}, out.view()), CheckFailure);
  EXPECT_THROW(run(k.view(), v.view(), {1, -1, 3, {}}, out.view()), CheckFailure);
  EXPECT_THROW(run(k.view(), v.view(), {0, 7, 0, {}}, row_block(out.view(), 0, 7)), CheckFailure);
  EXPECT_THROW(run(k.view(), v.view(), {0, 8, 0, {}}, column_block(out.view(), 0, 23)),
               CheckFailure);
  EXPECT_THROW(run(k.view(), v.view(), {0, 8, 0, {}}, out.view(),
                   {.accumulation = Accumulation::kSplitK, .split_k = 0}),
               CheckFailure);
  std::vector<std::uint16_t> bf16(96);
  KeyRows half(ConstMatrix{nullptr, 8, 12, 12});
  half.bf16 = bf16.data();
  const MatmulPolicy fp32{.inputs = DType::kFp32, .output = DType::kFp32};
  EXPECT_THROW(run(half, v.view(), {0, 8, 0, {}}, out.view(), fp32), CheckFailure);
  EXPECT_THROW(run(k.view(), half, {0, 8, 0, {}}, out.view(), fp32), CheckFailure);
}

}  // namespace
}  // namespace nb::kernels
