// Attention over cached keys under a sliding window.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/model/kernels/cached_attention.hpp"

namespace nb::kernels {
namespace {

using test::batch_equals_one_pass;
using test::Chunk;
using test::kCachedPolicies;
using test::Story;
using test::Values;
using test::windowed;

TEST(AttentionCached, ChunksUnderAWindowEqualOnePass) {
  for (const MatmulPolicy& policy : kCachedPolicies) {
    for (const std::int64_t window : {1, 5, 15, 16, 17, 31, 40, 90}) {
      const Story s = story(71, 1, Values::kFinite, policy, windowed(window));
      test::at_every_level([&] {
        for (const std::int64_t size : {1, 3, 13, 40, 71}) {
          for (std::int64_t first = 0; first < 71; first += size) {
            const std::int64_t count = std::min(size, 71 - first);
            ASSERT_TRUE(batch_equals_one_pass({{&s, first, count, {20, 33, 71}}}, policy))
                << test::text(policy) << " window " << window << ", chunk " << first << " + "
                << count;
          }
        }
      });
    }
  }
}

// Prefixes that lie before some windows, cross them, or are whole in them.
TEST(AttentionCached, SharedPrefixesUnderAWindowEqualOnePassOfEach) {
  for (const MatmulPolicy& policy : {kCachedPolicies[0], kCachedPolicies[1]}) {
    for (const std::int64_t window : {1, 9, 16, 35, 60}) {
      const Story s = story(90, 13, Values::kBf16, policy, windowed(window));
      test::at_every_level([&] {
        for (const std::int64_t prefix : {30, 32, 60}) {
          std::vector<Chunk> chunks;
          for (std::int64_t i = 0; i < 12; ++i)
            chunks.push_back({&s, prefix + 2 * i, 1 + i % 6, {prefix, 90}});
          chunks.push_back({&s, prefix, 90 - prefix, {prefix, 90}});
          chunks.push_back({&s, 10, 80, {prefix, 90}});
          ASSERT_TRUE(batch_equals_one_pass(chunks, policy)) << window << " " << prefix;
        }
      });
    }
  }
}

// Such a value is hidden by the window of some queries, and one of a pair of others.
TEST(AttentionCached, ValuesThatAreNotFiniteInFrontOfAWindowAreNotSeen) {
  for (const std::int64_t row : {0, 10, 11, 24, 25, 26}) {
    Story s = story(50, 28, Values::kOrdinary, {}, windowed(6));
    s.v.view().row(row)[7] = INFINITY;
    s.k.view().row(row)[7] = INFINITY;
    expect_again(s, {});
    test::at_every_level([&] {
      for (std::int64_t first = 0; first < 46; ++first) {
        ASSERT_TRUE(batch_equals_one_pass({{&s, first, 1, {11, 50}}}, {})) << row << " " << first;
        ASSERT_TRUE(batch_equals_one_pass({{&s, first, 4, {11, 50}}}, {})) << row << " " << first;
      }
      EXPECT_TRUE(batch_equals_one_pass({{&s, 11, 9, {11, 50}}, {&s, 20, 30, {11, 50}}}, {}));
    });
  }
}

}  // namespace
}  // namespace nb::kernels
