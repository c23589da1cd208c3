// Sequences that share segments of cached keys: which are shared, and what their readers see.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/model/kernels/cached_attention.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::batch_equals_one_pass;
using test::Chunk;
using test::expect_batch;
using test::kHeads;
using test::Story;
using test::Values;

TEST(AttentionCached, ASharedPrefixServesManySequences) {
  const Story s = story(50, 13, Values::kBf16, {});
  std::vector<Chunk> chunks;
  for (std::int64_t i = 0; i < 20; ++i) chunks.push_back({&s, 30 + i, 1, {30, 50}});
  chunks.push_back({&s, 30, 20, {30, 50}});
  test::at_every_level([&] { EXPECT_TRUE(batch_equals_one_pass(chunks, {})); });
}

// Of two sequences over one segment the first sees a part of it, the second all.
TEST(AttentionCached, ASegmentThatNotAllSeeToItsEndIsNotShared) {
  const Array q = test::random_array(40, 24, 1), k = test::random_array(40, 12, 2),
              v = test::random_array(40, 12, 3);
  const std::vector<KeySegment> whole = {segment(k, v, 0, 40)};
  for (const MatmulPolicy& policy :
       {MatmulPolicy{}, MatmulPolicy{.inputs = DType::kFp32, .output = DType::kFp32}}) {
    expect_batch(q.view(), {{3, 17, whole}, {5, 35, whole}}, kHeads, policy);
    expect_batch(q.view(), {{5, 35, whole}, {3, 17, whole}, {5, 35, whole}}, kHeads, policy);
  }
}

// The same keys with other values are not a shared segment, nor other keys with the same values.
TEST(AttentionCached, ASharedSegmentHasTheSameKeysAndTheSameValues) {
  const Array q = test::random_array(40, 24, 1), k = test::random_array(40, 12, 2),
              v = test::random_array(40, 12, 3), other = test::random_array(40, 12, 4);
  for (const MatmulPolicy& policy :
       {MatmulPolicy{}, MatmulPolicy{.inputs = DType::kFp32, .output = DType::kFp32}}) {
    expect_batch(q.view(), {{20, 20, {segment(k, v, 0, 40)}}, {20, 20, {segment(k, other, 0, 40)}}},
                 kHeads, policy);
    expect_batch(q.view(), {{20, 20, {segment(k, v, 0, 40)}}, {20, 20, {segment(other, v, 0, 40)}}},
                 kHeads, policy);
  }
}

// One value that is not finite in a shared prefix or behind it, at each place of a pair.
TEST(AttentionCached, ValuesThatAreNotFiniteReachTheirReadersAlone) {
  for (const std::int64_t row : {0, 10, 11, 24, 25, 26}) {
    Story s = story(27, 28, Values::kOrdinary, {});
    s.v.view().row(row)[7] = INFINITY;
    expect_again(s, {});
    test::at_every_level([&] {
      EXPECT_TRUE(batch_equals_one_pass({{&s, 11, 9, {11, 27}},
                                         {&s, 15, 12, {11, 27}},
                                         {&s, 26, 1, {11, 27}},
                                         {&s, 20, 6, {11, 27}}},
                                        {}));
    });
  }
}

// The last value of a shared prefix is not finite; the second sequence begins before it.
TEST(AttentionCached, AValueThatIsNotFiniteInASharedPrefixIsRememberedByItsLaterReaders) {
  for (const std::int64_t row : {0, 9, 10}) {
    for (const std::int64_t col : {0, 5, 6, 11}) {
      const Array q = test::random_array(27, 24, 1), k = test::random_array(27, 12, 2);
      Array v = test::random_array(27, 12, 3);
      v.view().row(row)[col] = INFINITY;
      const std::vector<KeySegment> segments = {segment(k, v, 0, 11), segment(k, v, 11, 16)};
      expect_batch(q.view(), {{11, 9, segments}, {5, 10, segments}, {0, 27, segments}}, kHeads, {});
    }
  }
}

// Panels of 16 columns and more: a value that is not finite in the last column of a wide head.
TEST(AttentionCached, AValueThatIsNotFiniteInAnyColumnOfAWideHeadIsSeen) {
  const CachedShape wide = {.heads = 1, .kv_heads = 1, .head_dim = 70};
  for (const std::int64_t col : {0, 15, 16, 31, 32, 63, 64, 69}) {
    const Array q = test::random_array(20, 70, 1), k = test::random_array(20, 70, 2);
    Array v = test::random_array(20, 70, 3);
    v.view().row(19)[col] = NAN;
    expect_batch(q.view(), {{0, 20, {segment(k, v, 0, 20)}}, {2, 11, {segment(k, v, 0, 20)}}}, wide,
                 {});
  }
}

}  // namespace
}  // namespace nb::kernels
