// A ragged batch over cached keys has the bits of one pass over each sequence.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <list>
#include <thread>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/attention.hpp"
#include "model/kernels/reference/attention.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::Values;

const MatmulPolicy kCachedPolicies[] = {
    {},
    {.inputs = DType::kFp32, .output = DType::kFp32},
    {.inputs = DType::kTf32, .output = DType::kFp32},
    {.inputs = DType::kHf32, .output = DType::kFp32},
    {.inputs = DType::kFp16, .output = DType::kFp16},
    {.accumulation = Accumulation::kBlock16},
    {.inputs = DType::kFp32,
     .accumulation = Accumulation::kSplitK,
     .split_k = 3,
     .output = DType::kFp32},
};
constexpr CachedShape kHeads = {.heads = 4, .kv_heads = 2, .head_dim = 6};

std::int64_t wide(const CachedShape& heads) { return heads.heads * heads.head_dim; }
std::int64_t narrow(const CachedShape& heads) { return heads.kv_heads * heads.head_dim; }

// One sequence of keys and queries, and what one pass gives for it.
struct Story {
  CachedShape heads;
  Array q, k, v, expected;
};
Story story(std::int64_t time, std::uint64_t seed, Values values, const MatmulPolicy& policy,
            const CachedShape& heads = kHeads) {
  Story s = {heads, test::random_array(time, wide(heads), seed, values),
             test::random_array(time, narrow(heads), seed + 1, values),
             test::random_array(time, narrow(heads), seed + 2, values), Array(time, wide(heads))};
  reference::attention(s.q.view(), s.k.view(), s.v.view(), s.expected.view(), {},
                       {.batch = 1,
                        .queries = time,
                        .keys = time,
                        .heads = heads.heads,
                        .kv_heads = heads.kv_heads,
                        .head_dim = heads.head_dim,
                        .window = heads.window},
                       policy);
  return s;
}

KeySegment segment(const Story& s, std::int64_t begin, std::int64_t count) {
  return {row_block(s.k.view(), begin, count), row_block(s.v.view(), begin, count)};
}

// What a cache holds where the inputs are bf16: bf16, each head's positions side by side.
struct Bf16Segment {
  std::vector<std::uint16_t> k, v;
  KeySegment source, rows;

  Bf16Segment(const KeySegment& from, const CachedShape& heads, const MatmulPolicy& policy)
      : source(from), rows{made(from.k, k, heads, policy), made(from.v, v, heads, policy)} {}

  static KeyRows made(const KeyRows& from, std::vector<std::uint16_t>& to, const CachedShape& heads,
                      const MatmulPolicy& policy) {
    const std::int64_t dim = heads.head_dim;
    to.resize(static_cast<std::size_t>(from.rows * from.cols));
    store_keys({from.fp32, from.rows, from.cols, from.stride},
               {.bf16 = to.data(), .stride = dim, .head_stride = from.rows * dim, .head_dim = dim},
               policy);
    KeyRows rows;
    rows.bf16 = to.data();
    rows.rows = from.rows;
    rows.cols = from.cols;
    rows.stride = dim;
    rows.head_stride = from.rows * dim;
    return rows;
  }
};
enum class Storage { kFloats, kBf16, kMixed };  // mixed: every second segment in bf16

// A chunk [first, first + count) of a story whose keys are cut at the given positions.
struct Chunk {
  const Story* story;
  std::int64_t first, count;
  std::vector<std::int64_t> cuts;  // ends of the segments, ascending; the last >= first + count
};

testing::AssertionResult batch_equals_one_pass(const std::vector<Chunk>& chunks,
                                               const MatmulPolicy& policy, Storage storage) {
  const CachedShape& heads = chunks.front().story->heads;
  const auto cols = static_cast<std::size_t>(wide(heads));
  std::int64_t rows = 1;  // a row of no sequence stands first and between them
  for (const Chunk& c : chunks) rows += c.count + 1;
  Array q(rows, wide(heads)), out(rows, wide(heads));
  std::vector<std::vector<KeySegment>> segments;
  std::list<Bf16Segment> bf16;
  std::vector<CachedSequence> sequences;
  std::int64_t row = 1;
  for (const Chunk& c : chunks) {
    std::vector<KeySegment> parts;
    std::int64_t begin = 0;
    for (const std::int64_t end : c.cuts) {
      parts.push_back(segment(*c.story, begin, end - begin));
      if (storage == Storage::kBf16 || (storage == Storage::kMixed && parts.size() % 2 == 1)) {
        KeySegment& part = parts.back();
        auto same = std::ranges::find_if(
            bf16, [&](const Bf16Segment& h) { return h.source.k.same_place(part.k); });
        if (same == bf16.end()) same = bf16.emplace(same, part, heads, policy);
        part = same->rows;  // shared where the floats are
      }
      begin = end;
    }
    segments.push_back(parts);
    for (std::int64_t i = 0; i < c.count; ++i) {
      std::copy_n(c.story->q.view().row(c.first + i), cols, q.view().row(row + i));
    }
    sequences.push_back({row, c.count, c.first, {}});
    row += c.count + 1;
  }
  for (std::size_t i = 0; i < sequences.size(); ++i) sequences[i].segments = segments[i];
  attention_cached(q.view(), out.view(), sequences, heads, policy);
  const Array untouched(rows, wide(heads));
  for (std::size_t n = 0; n < chunks.size(); ++n) {
    const std::int64_t first = sequences[n].first_row;
    auto between = test::same_bits(std::span(out.view().row(first - 1), cols),
                                   std::span(untouched.view().row(first - 1), cols));
    if (!between) return std::move(between) << " before sequence " << n;
    for (std::int64_t i = 0; i < chunks[n].count; ++i) {
      auto same = test::same_bits(
          std::span(out.view().row(first + i), cols),
          std::span(chunks[n].story->expected.view().row(chunks[n].first + i), cols));
      if (!same) return std::move(same) << " in sequence " << n << ", query " << i;
    }
  }
  return testing::AssertionSuccess();
}

testing::AssertionResult batch_equals_one_pass(const std::vector<Chunk>& chunks,
                                               const MatmulPolicy& policy) {
  auto result = batch_equals_one_pass(chunks, policy, Storage::kFloats);
  for (const Storage storage : {Storage::kBf16, Storage::kMixed}) {
    if (result && takes_bf16(policy)) {
      result = batch_equals_one_pass(chunks, policy, storage);
      if (!result) result << (storage == Storage::kBf16 ? " (bf16)" : " (some in bf16)");
    }
  }
  return result;
}

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

CachedShape windowed(std::int64_t window) {
  return {.heads = 4, .kv_heads = 2, .head_dim = 6, .window = window};
}

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
    reference::attention(s.q.view(), s.k.view(), s.v.view(), s.expected.view(), {},
                         {.batch = 1,
                          .queries = 50,
                          .keys = 50,
                          .heads = kHeads.heads,
                          .kv_heads = kHeads.kv_heads,
                          .head_dim = kHeads.head_dim,
                          .window = 6},
                         {});
    test::at_every_level([&] {
      for (std::int64_t first = 0; first < 46; ++first) {
        ASSERT_TRUE(batch_equals_one_pass({{&s, first, 1, {11, 50}}}, {})) << row << " " << first;
        ASSERT_TRUE(batch_equals_one_pass({{&s, first, 4, {11, 50}}}, {})) << row << " " << first;
      }
      EXPECT_TRUE(batch_equals_one_pass({{&s, 11, 9, {11, 50}}, {&s, 20, 30, {11, 50}}}, {}));
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

TEST(AttentionCached, ASharedPrefixServesManySequences) {
  const Story s = story(50, 13, Values::kBf16, {});
  std::vector<Chunk> chunks;
  for (std::int64_t i = 0; i < 20; ++i) chunks.push_back({&s, 30 + i, 1, {30, 50}});
  chunks.push_back({&s, 30, 20, {30, 50}});
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

// One value that is not finite in a shared prefix or behind it, at each place of a pair.
TEST(AttentionCached, ValuesThatAreNotFiniteReachTheirReadersAlone) {
  for (const std::int64_t row : {0, 10, 11, 24, 25, 26}) {
    Story s = story(27, 28, Values::kOrdinary, {});
    s.v.view().row(row)[7] = INFINITY;
    reference::attention(s.q.view(), s.k.view(), s.v.view(), s.expected.view(), {},
                         {.batch = 1,
                          .queries = 27,
                          .keys = 27,
                          .heads = kHeads.heads,
                          .kv_heads = kHeads.kv_heads,
                          .head_dim = kHeads.head_dim},
                         {});
    test::at_every_level([&] {
      EXPECT_TRUE(batch_equals_one_pass({{&s, 11, 9, {11, 27}},
                                         {&s, 15, 12, {11, 27}},
                                         {&s, 26, 1, {11, 27}},
                                         {&s, 20, 6, {11, 27}}},
                                        {}));
    });
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

TEST(AttentionCached, ABatchThatDisagreesFailsTheCheck) {
  const Story s = story(8, 22, Values::kOrdinary, {});
  Array q(8, wide(kHeads)), out(8, wide(kHeads));
  const std::vector<KeySegment> whole = {segment(s, 0, 8)};
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

struct Part {
  std::int64_t first, count;
  std::vector<KeySegment> segments;
};
// A batch over one story's q against each sequence alone, and each alone against the definition.
void expect_batch(ConstMatrix q, const std::vector<Part>& parts, const CachedShape& shape,
                  const MatmulPolicy& policy) {
  std::int64_t rows = 0;
  for (const Part& p : parts) rows += p.count;
  Array all(rows, q.cols), out(rows, q.cols), expected(rows, q.cols);
  std::vector<CachedSequence> sequences;
  std::int64_t row = 0;
  for (const Part& p : parts) {
    Array own_q(p.first + p.count, q.cols), own_out(p.first + p.count, q.cols);
    for (std::int64_t i = 0; i < own_q.view().rows; ++i)
      std::copy_n(q.row(i), q.cols, own_q.view().row(i));
    const std::int64_t keys = p.first + p.count, cols = p.segments.front().k.cols;
    Array k(keys, cols), v(keys, cols);
    std::int64_t done = 0;
    for (const KeySegment& s : p.segments)
      for (std::int64_t j = 0; j < s.k.rows && done < keys; ++j, ++done) {
        s.k.copy_row(j, k.view().row(done));
        s.v.copy_row(j, v.view().row(done));
      }
    reference::attention(own_q.view(), k.view(), v.view(), own_out.view(), {},
                         {.batch = 1,
                          .queries = keys,
                          .keys = keys,
                          .heads = shape.heads,
                          .kv_heads = shape.kv_heads,
                          .head_dim = shape.head_dim},
                         policy);
    for (std::int64_t i = 0; i < p.count; ++i) {
      std::copy_n(q.row(p.first + i), q.cols, all.view().row(row + i));
      std::copy_n(own_out.view().row(p.first + i), q.cols, expected.view().row(row + i));
    }
    sequences.push_back({row, p.count, p.first, p.segments});
    row += p.count;
  }
  test::at_every_level(
      [&] {
        attention_cached(all.view(), out.view(), sequences, shape, policy);
        EXPECT_TRUE(test::same_bits(out, expected));
      },
      {1, 3});
}

KeySegment cut(const Array& k, const Array& v, std::int64_t begin, std::int64_t count) {
  return {row_block(k.view(), begin, count), row_block(v.view(), begin, count)};
}

// Of two sequences over one segment the first sees a part of it, the second all.
TEST(AttentionCached, ASegmentThatNotAllSeeToItsEndIsNotShared) {
  const Array q = test::random_array(40, 24, 1), k = test::random_array(40, 12, 2),
              v = test::random_array(40, 12, 3);
  const std::vector<KeySegment> whole = {cut(k, v, 0, 40)};
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
    expect_batch(q.view(), {{20, 20, {cut(k, v, 0, 40)}}, {20, 20, {cut(k, other, 0, 40)}}}, kHeads,
                 policy);
    expect_batch(q.view(), {{20, 20, {cut(k, v, 0, 40)}}, {20, 20, {cut(other, v, 0, 40)}}}, kHeads,
                 policy);
  }
}

// The last value of a shared prefix is not finite; the second sequence begins before it.
TEST(AttentionCached, AValueThatIsNotFiniteInASharedPrefixIsRememberedByItsLaterReaders) {
  for (const std::int64_t row : {0, 9, 10}) {
    for (const std::int64_t col : {0, 5, 6, 11}) {
      const Array q = test::random_array(27, 24, 1), k = test::random_array(27, 12, 2);
      Array v = test::random_array(27, 12, 3);
      v.view().row(row)[col] = INFINITY;
      const std::vector<KeySegment> segments = {cut(k, v, 0, 11), cut(k, v, 11, 16)};
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
    expect_batch(q.view(), {{0, 20, {cut(k, v, 0, 20)}}, {2, 11, {cut(k, v, 0, 20)}}}, wide, {});
  }
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
        expect_batch(q.view(), {{keys - 1, 1, {cut(k, v, 0, keys)}}}, shape, policy);
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
    const std::vector<KeySegment> segments = {cut(k, v, 0, 301)};
    const std::vector<CachedSequence> sequences = {{0, 1, 300, segments}};
    attention_cached(row_block(q.view(), 300, 1), out.view(), sequences, shape, {});
    set_threads(0);
  }).join();
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
