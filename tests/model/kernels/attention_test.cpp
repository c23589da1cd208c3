#include "model/kernels/reference/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/attention_merge.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "model/kernels/vector_math.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;
using test::Values;

const MatmulPolicy kPolicies[] = {
    {},
    {.inputs = DType::kFp32, .output = DType::kFp32},
    {.inputs = DType::kFp16, .output = DType::kFp16},
    {.inputs = DType::kTf32, .output = DType::kFp32},
    {.inputs = DType::kHf32, .output = DType::kFp32},
    {.accumulation = Accumulation::kBlock16},
    {.inputs = DType::kFp32,
     .accumulation = Accumulation::kSplitK,
     .split_k = 3,
     .output = DType::kFp32},
};

struct Tensors {
  Array q, k, v, dout;
};
Tensors tensors(const AttentionShape& s, Values values) {
  const std::int64_t wide = s.heads * s.head_dim, narrow = s.kv_heads * s.head_dim;
  return {test::random_array(s.batch * s.queries, wide, 1, values),
          test::random_array(s.batch * s.keys, narrow, 2, values),
          test::random_array(s.batch * s.keys, narrow, 3, values),
          test::random_array(s.batch * s.queries, wide, 4, values)};
}

struct AttentionResults {
  Array out, dq, dk, dv;
  std::vector<float> row_max, row_sum;
};
template <bool kReference>
AttentionResults run(const Tensors& t, const AttentionShape& s, const MatmulPolicy& policy,
                     bool backward) {
  const auto saved = static_cast<std::size_t>(s.batch * s.heads * s.queries);
  AttentionResults r{Array(t.q.view().rows, t.q.view().cols),
                     Array(t.q.view().rows, t.q.view().cols),
                     Array(t.k.view().rows, t.k.view().cols),
                     Array(t.k.view().rows, t.k.view().cols),
                     std::vector<float>(saved),
                     std::vector<float>(saved)};
  const auto forward = [&](const auto& kernel) {
    const AttentionSaved saved_rows = {r.row_max, r.row_sum};
    kernel(t.q.view(), t.k.view(), t.v.view(), r.out.view(), saved_rows, s, policy);
  };
  const auto back = [&](const auto& kernel) {
    kernel(t.dout.view(), t.q.view(), t.k.view(), t.v.view(), r.out.view(), r.row_max, r.row_sum,
           r.dq.view(), r.dk.view(), r.dv.view(), s, policy);
  };
  if constexpr (kReference) {
    forward(reference::attention);
    if (backward) back(reference::attention_backward);
  } else {
    forward(attention);
    if (backward) back(attention_backward);
  }
  return r;
}

AttentionShape training_shape(std::int64_t batch, std::int64_t time, std::int64_t heads,
                              std::int64_t kv_heads, std::int64_t head_dim) {
  return {.batch = batch,
          .queries = time,
          .keys = time,
          .heads = heads,
          .kv_heads = kv_heads,
          .head_dim = head_dim};
}

void expect_equal(const AttentionShape& s, const MatmulPolicy& policy, Values values,
                  bool backward) {
  SCOPED_TRACE(testing::Message() << "B " << s.batch << " queries " << s.queries << " keys "
                                  << s.keys << " H " << s.heads << "/" << s.kv_heads << " D "
                                  << s.head_dim << " window " << s.window << " "
                                  << test::text(policy));
  const Tensors t = tensors(s, values);
  const AttentionResults expected = run<true>(t, s, policy, backward);
  test::at_every_level([&] {
    const AttentionResults actual = run<false>(t, s, policy, backward);
    EXPECT_TRUE(test::same_bits(actual.out, expected.out)) << "out";
    EXPECT_TRUE(test::same_bits(actual.row_max, expected.row_max)) << "row_max";
    EXPECT_TRUE(test::same_bits(actual.row_sum, expected.row_sum)) << "row_sum";
    if (!backward) return;
    EXPECT_TRUE(test::same_bits(actual.dq, expected.dq)) << "dq";
    EXPECT_TRUE(test::same_bits(actual.dk, expected.dk)) << "dk";
    EXPECT_TRUE(test::same_bits(actual.dv, expected.dv)) << "dv";
  });
}

TEST(Attention, ForwardAndBackwardEqualTheirDefinition) {
  for (const MatmulPolicy& policy : kPolicies) {
    for (const auto& [time, head_dim] :
         {std::pair{1, 1}, std::pair{2, 5}, std::pair{17, 16}, std::pair{47, 32}, std::pair{48, 8},
          std::pair{49, 33}, std::pair{101, 20}}) {
      expect_equal(training_shape(2, time, 2, 2, head_dim), policy, Values::kOrdinary, true);
    }
  }
}

// Queries behind all keys, as those of a later chunk are: next to them, or far away.
TEST(Attention, OfKeysThatAllQueriesSeeEqualsItsDefinition) {
  for (const MatmulPolicy& policy : kPolicies) {
    const bool is_chain = policy.accumulation == Accumulation::kChain;
    for (const auto& [time, head_dim] : {std::pair{1, 1}, std::pair{2, 5}, std::pair{12, 4},
                                         std::pair{17, 16}, std::pair{33, 2}, std::pair{49, 33}}) {
      if (!is_chain && time > 12) continue;
      AttentionShape s = training_shape(1, time, 2, 1, head_dim);
      s.first_position = time;
      expect_equal(s, policy, Values::kOrdinary, true);
    }
  }
  for (const MatmulPolicy& policy : {kPolicies[0], kPolicies[1]})
    for (const std::int64_t time : {128, 257}) {
      AttentionShape s = training_shape(1, time, 1, 1, 6);
      s.first_position = 3 * time;
      expect_equal(s, policy, Values::kFinite, true);
    }
}

// Keys that are not there weigh nothing, where all scores are far below zero and exp(0 - maximum)
// overflows: in odd numbers, which end within a pair of bf16 values, too.
TEST(Attention, PaddingBehindTheLastKeyIsNeverSeen) {
  for (const MatmulPolicy& policy : {kPolicies[0], kPolicies[1]})
    for (const std::int64_t time : {1, 3, 13, 33}) {
      AttentionShape s = training_shape(1, time, 1, 1, 4);
      s.first_position = time;
      s.scale = -50.0f;
      Tensors t = tensors(s, Values::kOrdinary);
      for (std::int64_t i = 0; i < time; ++i)
        for (std::int64_t d = 0; d < 4; ++d) {
          t.q.view().row(i)[d] = std::abs(t.q.view().row(i)[d]) + 1.0f;
          t.k.view().row(i)[d] = std::abs(t.k.view().row(i)[d]) + 1.0f;
        }
      const AttentionResults expected = run<true>(t, s, policy, true);
      test::at_every_level([&] {
        const AttentionResults actual = run<false>(t, s, policy, true);
        EXPECT_TRUE(test::same_bits(actual.out, expected.out));
        EXPECT_TRUE(test::same_bits(actual.dq, expected.dq));
        EXPECT_TRUE(test::same_bits(actual.dk, expected.dk));
        EXPECT_TRUE(std::isfinite(std::as_const(actual.dk).view().row(0)[0]));
      });
    }
}

// Both halves of the keys, seen by all queries, are one attention over both.
TEST(AttentionMerge, OfTwoPartsIsAttentionOverTheirKeys) {
  constexpr std::int64_t kBatch = 2, kQueries = 6, kCols = 16;
  const MatmulPolicy& policy = kPolicies[1];
  AttentionShape half = training_shape(kBatch, kQueries, 2, 2, 8);
  half.first_position = 2 * kQueries;
  AttentionShape both = half;
  both.keys = 2 * kQueries;
  const Tensors all = tensors(both, Values::kOrdinary);
  struct Part {
    Array out{kBatch * kQueries, kCols};
    std::vector<float> row_max = std::vector<float>(24), row_sum = row_max;
  };
  Part parts[2], whole;
  for (int which = 0; which < 2; ++which) {
    Array k(kBatch * kQueries, kCols), v(kBatch * kQueries, kCols);
    for (std::int64_t b = 0; b < kBatch; ++b)
      for (std::int64_t i = 0; i < kQueries; ++i) {
        const std::int64_t from = (b * 2 + which) * kQueries + i, to = b * kQueries + i;
        std::copy_n(all.k.view().row(from), kCols, k.view().row(to));
        std::copy_n(all.v.view().row(from), kCols, v.view().row(to));
      }
    Part& p = parts[which];
    attention(all.q.view(), k.view(), v.view(), p.out.view(), {p.row_max, p.row_sum}, half, policy);
  }
  attention(all.q.view(), all.k.view(), all.v.view(), whole.out.view(),
            {whole.row_max, whole.row_sum}, both, policy);
  merge_attention({parts[0].out.view(), parts[0].row_max, parts[0].row_sum},
                  {std::as_const(parts[1].out).view(), parts[1].row_max, parts[1].row_sum}, half);
  EXPECT_EQ(parts[0].row_max, whole.row_max);  // exact
  for (std::size_t i = 0; i < whole.row_sum.size(); ++i)
    EXPECT_NEAR(parts[0].row_sum[i] / whole.row_sum[i], 1.0f, 4e-7f) << i;
  for (std::int64_t i = 0; i < kBatch * kQueries; ++i)
    for (std::int64_t d = 0; d < kCols; ++d)
      EXPECT_NEAR(parts[0].out.view().row(i)[d], whole.out.view().row(i)[d], 1e-6f)
          << i << " " << d;
}

TEST(Attention, LongSequencesCutTheChainOverKeys) {
  expect_equal(training_shape(1, 550, 1, 1, 8), {}, Values::kOrdinary, true);
  expect_equal(training_shape(1, 300, 1, 1, 8), kPolicies[1], Values::kOrdinary, true);
}

// Blocks of queries, tiles of keys, panels of columns and spans of queries: whole, and by one less
// and more.
TEST(Attention, EdgesOfBlocksEqualTheDefinition) {
  for (const MatmulPolicy& policy : {kPolicies[0], kPolicies[1]}) {
    for (const auto& [time, head_dim] :
         {std::pair{15, 128}, std::pair{16, 64}, std::pair{31, 31}, std::pair{32, 48},
          std::pair{33, 2}, std::pair{127, 6}, std::pair{128, 16}, std::pair{129, 7},
          std::pair{145, 34}, std::pair{255, 6}, std::pair{256, 16}, std::pair{257, 7}}) {
      expect_equal(training_shape(1, time, 1, 1, head_dim), policy, Values::kFinite, true);
    }
  }
}

TEST(Attention, ScoresThatAreAllZeroOfEitherSignEqualTheDefinition) {
  const AttentionShape s = training_shape(1, 40, 1, 1, 4);
  for (const float scale : {0.5f, -0.5f, 0x1p-126f}) {
    AttentionShape scaled = s;
    scaled.scale = scale;
    Tensors t = tensors(s, Values::kOrdinary);
    for (std::int64_t i = 0; i < 40; ++i) {
      for (std::int64_t d = 0; d < 4; ++d) t.q.view().row(i)[d] *= i % 3 == 0 ? 0.0f : 0x1p-140f;
    }
    for (const MatmulPolicy& policy : kPolicies) {
      const AttentionResults expected = run<true>(t, scaled, policy, true);
      test::at_every_level([&] {
        const AttentionResults actual = run<false>(t, scaled, policy, true);
        EXPECT_TRUE(test::same_bits(actual.out, expected.out)) << test::text(policy);
        EXPECT_TRUE(test::same_bits(actual.row_max, expected.row_max)) << test::text(policy);
        EXPECT_TRUE(test::same_bits(actual.dq, expected.dq)) << test::text(policy);
      });
    }
  }
}

// Keys that lie far apart in score: probabilities from one down to below the smallest denormal.
TEST(Attention, ProbabilitiesOfAllSizesEqualTheDefinition) {
  const AttentionShape s = training_shape(1, 70, 1, 1, 8);
  for (const MatmulPolicy& policy : kPolicies) {
    Tensors t = tensors(s, Values::kOrdinary);
    for (std::int64_t j = 0; j < 70; ++j) {
      for (std::int64_t d = 0; d < 8; ++d) t.k.view().row(j)[d] *= static_cast<float>(j);
    }
    const AttentionResults expected = run<true>(t, s, policy, true);
    test::at_every_level([&] {
      const AttentionResults actual = run<false>(t, s, policy, true);
      EXPECT_TRUE(test::same_bits(actual.out, expected.out)) << test::text(policy);
      EXPECT_TRUE(test::same_bits(actual.dq, expected.dq)) << test::text(policy);
      EXPECT_TRUE(test::same_bits(actual.dk, expected.dk)) << test::text(policy);
      EXPECT_TRUE(test::same_bits(actual.dv, expected.dv)) << test::text(policy);
    });
  }
}

AttentionShape with_window(AttentionShape s, std::int64_t window) {
  s.window = window;
  return s;
}

// One key, tiles of keys, vectors and blocks of queries: whole, and by one less and more.
TEST(Attention, WindowsEqualTheirDefinition) {
  for (const std::int64_t window : {1, 3, 4, 5, 11, 12, 13, 15, 16, 17, 31, 32, 33, 100, 101}) {
    for (const MatmulPolicy& policy : {kPolicies[0], kPolicies[1]}) {
      for (const std::int64_t time : {1, 2, 33, 101})
        expect_equal(with_window(training_shape(1, time, 1, 1, 18), window), policy,
                     Values::kFinite, true);
    }
  }
}

TEST(Attention, WindowsOfGroupedHeadsEqualTheirDefinition) {
  for (const MatmulPolicy& policy : kPolicies) {
    for (const std::int64_t window : {1, 7, 16, 40}) {
      expect_equal(with_window(training_shape(2, 53, 6, 2, 16), window), policy, Values::kOrdinary,
                   true);
      expect_equal(with_window(training_shape(1, 50, 2, 2, 6), window), policy, Values::kNonFinite,
                   true);
    }
  }
}

// Chains over keys and over queries begin and end in any of several spans.
TEST(Attention, WindowsOfLongSequencesEqualTheirDefinition) {
  for (const std::int64_t window : {1, 24, 255, 256, 257, 300, 511, 549}) {
    expect_equal(with_window(training_shape(1, 550, 1, 1, 8), window), {}, Values::kOrdinary, true);
    expect_equal(with_window(training_shape(1, 530, 2, 1, 5), window), kPolicies[1],
                 Values::kOrdinary, true);
  }
}

// A query that sees all keys before its own sees all that there are without a window.
TEST(Attention, AWindowOfAllKeysIsNone) {
  const AttentionShape s = training_shape(1, 70, 2, 1, 16);
  const Tensors t = tensors(s, Values::kOrdinary);
  for (const MatmulPolicy& policy : kPolicies) {
    const AttentionResults expected = run<false>(t, s, policy, true);
    for (const std::int64_t window : {69, 70, 1000}) {
      const AttentionResults r = run<false>(t, with_window(s, window), policy, true);
      EXPECT_TRUE(test::same_bits(r.out, expected.out)) << test::text(policy);
      EXPECT_TRUE(test::same_bits(r.dq, expected.dq)) << test::text(policy);
      EXPECT_TRUE(test::same_bits(r.dk, expected.dk)) << test::text(policy);
      EXPECT_TRUE(test::same_bits(r.dv, expected.dv)) << test::text(policy);
    }
    const AttentionResults seen = run<false>(t, with_window(s, 68), policy, false);
    EXPECT_FALSE(test::same_bits(seen.out, expected.out)) << test::text(policy);
  }
}

// A query sees as many keys as it would see if the sequence began with its window.
TEST(Attention, AWindowHasItsLengthAndItsOwnKey) {
  constexpr std::int64_t kWindow = 17, kTime = 64;
  const AttentionShape s = with_window(training_shape(1, kTime, 1, 1, 8), kWindow);
  const Tensors t = tensors(s, Values::kOrdinary);
  const MatmulPolicy& policy = kPolicies[1];
  const AttentionResults all = run<false>(t, s, policy, false);
  // From an aligned position on, sums are cut alike.
  for (const std::int64_t first : {16, 32}) {
    const std::int64_t query = first + kWindow;
    AttentionShape one = training_shape(1, kWindow + 1, 1, 1, 8);
    Array out(kWindow + 1, 8);
    attention(row_block(t.q.view(), first, kWindow + 1), row_block(t.k.view(), first, kWindow + 1),
              row_block(t.v.view(), first, kWindow + 1), out.view(), {}, one, policy);
    EXPECT_TRUE(test::same_bits(std::span(all.out.view().row(query), 8),
                                std::span(out.view().row(kWindow), 8)));
  }
}

// What a key in front of the window holds, NaN included, cannot be seen.
TEST(Attention, KeysInFrontOfTheWindowAreNeverSeen) {
  const AttentionShape s = with_window(training_shape(1, 60, 1, 1, 8), 9);
  for (const MatmulPolicy& policy : kPolicies) {
    Tensors t = tensors(s, Values::kOrdinary);
    const AttentionResults before = run<false>(t, s, policy, false);
    for (std::int64_t j = 0; j < 21; ++j) {
      for (std::int64_t d = 0; d < 8; ++d) t.k.view().row(j)[d] = t.v.view().row(j)[d] = NAN;
    }
    test::at_every_level([&] {
      const AttentionResults after = run<false>(t, s, policy, false);
      for (std::int64_t i = 30; i < 60; ++i) {
        ASSERT_TRUE(test::same_bits(std::span(after.out.view().row(i), 8),
                                    std::span(before.out.view().row(i), 8)));
      }
      EXPECT_TRUE(std::isnan(after.out.view().row(29)[0]));
    });
  }
}

TEST(Attention, GroupedKeyHeadsEqualTheirDefinition) {
  for (const MatmulPolicy& policy : kPolicies) {
    expect_equal(training_shape(2, 53, 6, 2, 16), policy, Values::kOrdinary, true);
    expect_equal(training_shape(1, 20, 4, 1, 7), policy, Values::kOrdinary, true);
  }
}

TEST(Attention, HardValuesEqualTheDefinition) {
  for (const MatmulPolicy& policy : kPolicies) {
    for (const Values values : {Values::kFinite, Values::kNonFinite}) {
      expect_equal(training_shape(1, 50, 2, 2, 6), policy, values, true);
    }
  }
}

// The last query sees every key, so its sums are those of plain products.
TEST(Attention, BlocksAndPartsAreThoseOfMatrixProducts) {
  constexpr std::int64_t kKeys = 75, kDim = 40;
  const AttentionShape s = training_shape(1, kKeys, 1, 1, kDim);
  const Tensors t = tensors(s, Values::kOrdinary);
  Array chained(1, kDim);
  for (const MatmulPolicy& policy :
       {MatmulPolicy{}, MatmulPolicy{.accumulation = Accumulation::kBlock16},
        MatmulPolicy{.accumulation = Accumulation::kSplitK, .split_k = 2},
        MatmulPolicy{.accumulation = Accumulation::kSplitK, .split_k = 5}}) {
    MatmulPolicy raw = policy;  // sums as they are
    raw.output = DType::kFp32;
    const AttentionResults r = run<true>(t, s, raw, true);
    const auto last = [](const Array& x) { return row_block(x.view(), kKeys - 1, 1); };
    Array p(1, kKeys), sums(1, kDim);
    reference::matmul_nt(last(t.q), t.k.view(), p.view(), raw);
    for (std::int64_t j = 0; j < kKeys; ++j)
      p.view().row(0)[j] = exp(p.view().row(0)[j] * (1.0f / std::sqrt(40.0f)) - r.row_max.back());
    reference::matmul_nn(p.view(), t.v.view(), sums.view(), raw);
    for (std::int64_t d = 0; d < kDim; ++d)
      EXPECT_EQ(r.out.view().row(kKeys - 1)[d], sums.view().row(0)[d] / r.row_sum.back())
          << test::text(policy) << " " << d;
    // dv of the first key: every query sees it.
    Array weights(kKeys, 1), dv(1, kDim);
    for (std::int64_t i = 0; i < kKeys; ++i) {
      Array z(1, 1);
      reference::matmul_nt(row_block(t.q.view(), i, 1), row_block(t.k.view(), 0, 1), z.view(), raw);
      const auto at = static_cast<std::size_t>(i);
      weights.view().row(i)[0] =
          exp(z.view().row(0)[0] * (1.0f / std::sqrt(40.0f)) - r.row_max[at]) / r.row_sum[at];
    }
    reference::matmul_tn(weights.view(), t.dout.view(), dv.view(), raw);
    EXPECT_TRUE(
        test::same_bits(std::span(r.dv.view().row(0), kDim), std::span(dv.view().row(0), kDim)))
        << test::text(policy);
    if (policy.accumulation == Accumulation::kChain) {
      chained = sums;
    } else {
      EXPECT_FALSE(test::same_bits(sums, chained)) << test::text(policy);
    }
  }
}

TEST(Attention, AChunkWithACacheEqualsOnePassInBlocksAndParts) {
  const AttentionShape whole = training_shape(1, 70, 1, 1, 20);
  const Tensors t = tensors(whole, Values::kBf16);
  for (const MatmulPolicy& policy : {kPolicies[5], kPolicies[6]}) {
    const AttentionResults expected = run<false>(t, whole, policy, false);
    for (const std::int64_t first : {1, 33, 69}) {
      AttentionShape chunk = whole;
      chunk.queries = 70 - first, chunk.first_position = first;
      Array out(chunk.queries, 20);
      attention(row_block(t.q.view(), first, chunk.queries), t.k.view(), t.v.view(), out.view(), {},
                chunk, policy);
      for (std::int64_t i = 0; i < chunk.queries; ++i)
        ASSERT_TRUE(test::same_bits(std::span(out.view().row(i), 20),
                                    std::span(expected.out.view().row(first + i), 20)))
            << test::text(policy) << " first " << first << " query " << i;
    }
  }
}

TEST(Attention, AChunkWithACacheEqualsOnePass) {
  const AttentionShape whole = training_shape(2, 120, 2, 1, 16);
  const Tensors t = tensors(whole, Values::kBf16);
  const AttentionResults expected = run<true>(t, whole, {}, false);
  test::at_every_level([&] {
    for (const std::int64_t first : {0, 1, 63, 96, 119}) {
      for (const std::int64_t count : {std::int64_t{1}, std::int64_t{20}, 120 - first}) {
        if (first + count > 120) continue;
        AttentionShape chunk = whole;
        chunk.queries = count, chunk.first_position = first, chunk.keys = first + count;
        chunk.key_rows = 120;
        Array q(2 * count, 32), out(2 * count, 32);
        for (std::int64_t b = 0; b < 2; ++b) {
          for (std::int64_t i = 0; i < count; ++i) {
            std::copy_n(t.q.view().row(b * 120 + first + i), 32, q.view().row(b * count + i));
          }
        }
        attention(q.view(), t.k.view(), t.v.view(), out.view(), {}, chunk, {});
        for (std::int64_t b = 0; b < 2; ++b) {
          for (std::int64_t i = 0; i < count; ++i) {
            ASSERT_TRUE(
                test::same_bits(std::span(out.view().row(b * count + i), 32),
                                std::span(expected.out.view().row(b * 120 + first + i), 32)))
                << "first " << first << " query " << i;
          }
        }
      }
    }
  });
}

// What a later key holds, NaN included, cannot be seen by an earlier query.
TEST(Attention, LaterKeysAreNeverSeen) {
  const AttentionShape s = training_shape(1, 60, 1, 1, 8);
  for (const MatmulPolicy& policy : kPolicies) {
    Tensors t = tensors(s, Values::kOrdinary);
    const AttentionResults before = run<false>(t, s, policy, false);
    for (std::int64_t j = 31; j < 60; ++j) {
      for (std::int64_t d = 0; d < 8; ++d) t.k.view().row(j)[d] = t.v.view().row(j)[d] = NAN;
    }
    test::at_every_level([&] {
      const AttentionResults after = run<false>(t, s, policy, false);
      for (std::int64_t i = 0; i < 31; ++i) {
        ASSERT_TRUE(test::same_bits(std::span(after.out.view().row(i), 8),
                                    std::span(before.out.view().row(i), 8)));
      }
      EXPECT_TRUE(std::isnan(after.out.view().row(31)[0]));
    });
  }
}

TEST(Attention, OneKeyGivesItsValue) {
  const float q[] = {3.0f, 4.0f}, k[] = {1.0f, -1.0f}, v[] = {0.5f, -0.25f};
  float out[2];
  attention(matrix(q, 1, 2), matrix(k, 1, 2), matrix(v, 1, 2), matrix(out, 1, 2), {},
            training_shape(1, 1, 1, 1, 2), {});
  EXPECT_EQ(out[0], 0.5f);
  EXPECT_EQ(out[1], -0.25f);
}

TEST(Attention, AShapeThatDisagreesFailsTheCheck) {
  const Tensors t = tensors(training_shape(1, 4, 2, 2, 4), Values::kOrdinary);
  EXPECT_THROW(run<false>(t, with_window(training_shape(1, 4, 2, 2, 4), -1), {}, false),
               CheckFailure);
  EXPECT_THROW(run<false>(t, training_shape(1, 4, 2, 1, 4), {}, false), CheckFailure);
  EXPECT_THROW(run<false>(t, training_shape(1, 5, 2, 2, 4), {}, false), CheckFailure);
  EXPECT_THROW(run<false>(t, training_shape(1, 4, 2, 2, 4),
                          {.accumulation = Accumulation::kSplitK, .split_k = 0}, false),
               CheckFailure);
}

}  // namespace
}  // namespace nb::kernels
