// Attention at every level: training shapes forward and backward, chunks over a cache, ragged
// batches over keys in pieces; with ordinary values and with edges in q, k, v and dout.
#include "model/kernels/attention.hpp"

#include <gtest/gtest.h>

#include "model/kernels/reference/attention.hpp"
#include "tests/model/kernels/shapes/edges.hpp"
#include "tests/model/kernels/shapes/lists.hpp"

namespace nb::kernels {
namespace {

using test::Array;

const MatmulPolicy kPolicies[] = {{},
                                  {.inputs = DType::kFp32, .output = DType::kFp32},
                                  {.inputs = DType::kFp16, .output = DType::kFp16}};

struct Tensors {
  Array q, k, v, dout;
};
Tensors tensors(std::int64_t query_rows, std::int64_t key_rows, std::int64_t wide,
                std::int64_t narrow, bool edges, std::size_t turn) {
  const auto make = [&](std::int64_t rows, std::int64_t cols, std::uint64_t seed) {
    return edges ? test::edged_array(rows, cols, seed, turn + seed)
                 : test::random_array(rows, cols, seed);
  };
  return {make(query_rows, wide, 1), make(key_rows, narrow, 2), make(key_rows, narrow, 3),
          make(query_rows, wide, 4)};
}

struct Results {
  Array out, dq, dk, dv;
  std::vector<float> row_max, row_sum;
};
Results run(bool naive, const Tensors& t, const AttentionShape& s, const MatmulPolicy& policy,
            bool backward) {
  const ConstMatrix q = t.q.view(), k = t.k.view(), v = t.v.view();
  const auto saved = static_cast<std::size_t>(s.batch * s.heads * s.queries);
  Results r{Array(q.rows, q.cols), Array(q.rows, q.cols),     Array(k.rows, k.cols),
            Array(k.rows, k.cols), std::vector<float>(saved), std::vector<float>(saved)};
  const AttentionSaved rows = {r.row_max, r.row_sum};
  const auto both = [&](const auto& forward, const auto& back) {
    forward(q, k, v, r.out.view(), rows, s, policy);
    if (!backward) return;
    back(t.dout.view(), q, k, v, r.out.view(), r.row_max, r.row_sum, r.dq.view(), r.dk.view(),
         r.dv.view(), s, policy);
  };
  if (naive) {
    both(reference::attention, reference::attention_backward);
  } else {
    both(attention, attention_backward);
  }
  return r;
}

void expect_equal(const AttentionShape& s, bool backward, bool edges, std::size_t turn) {
  const std::int64_t keys = s.key_rows == 0 ? s.keys : s.key_rows;
  const Tensors t = tensors(s.batch * s.queries, s.batch * keys, s.heads * s.head_dim,
                            s.kv_heads * s.head_dim, edges, turn);
  const MatmulPolicy& policy = kPolicies[turn % 5 < 3 ? turn % 5 : 0];
  SCOPED_TRACE(testing::Message() << "B " << s.batch << " queries " << s.queries << " keys "
                                  << s.keys << " H " << s.heads << "/" << s.kv_heads << " D "
                                  << s.head_dim << " edges " << edges << " " << test::text(policy));
  const Results expected = run(true, t, s, policy, backward);
  test::at_every_level([&] {
    const Results actual = run(false, t, s, policy, backward);
    EXPECT_TRUE(test::same_bits(actual.out, expected.out)) << "out";
    EXPECT_TRUE(test::same_bits(actual.row_max, expected.row_max)) << "row_max";
    EXPECT_TRUE(test::same_bits(actual.row_sum, expected.row_sum)) << "row_sum";
    EXPECT_TRUE(test::same_bits(actual.dq, expected.dq)) << "dq";
    EXPECT_TRUE(test::same_bits(actual.dk, expected.dk)) << "dk";
    EXPECT_TRUE(test::same_bits(actual.dv, expected.dv)) << "dv";
  });
}

TEST(AttentionShapes, TrainingEqualsTheDefinition) {
  std::size_t turn = 0;
  for (const AttentionShape& s : test::thinned(test::training_attention_shapes())) {
    for (const bool edges : {false, true, true}) {
      expect_equal(s, /*backward=*/true, edges, turn++);
      if (HasFailure()) return;
    }
  }
}

TEST(AttentionShapes, ChunksOverACacheEqualTheDefinition) {
  std::size_t turn = 0;
  for (const AttentionShape& s : test::thinned(test::chunk_attention_shapes())) {
    for (const bool edges : {false, true}) {
      expect_equal(s, /*backward=*/false, edges, turn++);
      if (HasFailure()) return;
    }
  }
}

// [0, count) cut into at most `pieces` runs of uneven lengths.
std::vector<std::pair<std::int64_t, std::int64_t>> cut(std::int64_t count, std::int64_t pieces) {
  std::vector<std::pair<std::int64_t, std::int64_t>> runs;
  std::int64_t begin = 0;
  for (std::int64_t i = 1; i <= pieces; ++i) {
    const std::int64_t end = i == pieces ? count : count * i * i / (pieces * pieces);
    if (end > begin) runs.push_back({begin, end - begin});
    begin = std::max(begin, end);
  }
  return runs;
}

// Each sequence of a ragged batch against the definition of that sequence alone.
TEST(AttentionShapes, RaggedBatchesEqualTheDefinition) {
  std::size_t turn = 0;
  for (const test::RaggedCase& c : test::thinned(test::ragged_cases())) {
    for (const bool edges : {false, true}) {
      const MatmulPolicy& policy = kPolicies[turn++ % 3];
      const std::int64_t wide = c.heads * c.head_dim, narrow = c.kv_heads * c.head_dim;
      std::int64_t rows = 0, most_keys = 1;
      for (const test::RaggedSequence& s : c.sequences) {
        rows += s.queries;
        most_keys = std::max(most_keys, s.first_position + s.queries);
      }
      const Tensors t = tensors(rows, most_keys, wide, narrow, edges, turn);
      Array expected(rows, wide);
      std::vector<std::vector<KeySegment>> segments;
      std::vector<CachedSequence> sequences;
      std::int64_t row = 0;
      for (const test::RaggedSequence& s : c.sequences) {
        const std::int64_t keys = s.first_position + s.queries;
        const AttentionShape alone{.batch = 1,
                                   .queries = s.queries,
                                   .keys = keys,
                                   .heads = c.heads,
                                   .kv_heads = c.kv_heads,
                                   .head_dim = c.head_dim,
                                   .first_position = s.first_position};
        reference::attention(row_block(t.q.view(), row, s.queries), row_block(t.k.view(), 0, keys),
                             row_block(t.v.view(), 0, keys),
                             row_block(expected.view(), row, s.queries), {}, alone, policy);
        auto& pieces = segments.emplace_back();
        for (const auto& [begin, count] : cut(keys, s.pieces))
          pieces.push_back(
              {row_block(t.k.view(), begin, count), row_block(t.v.view(), begin, count)});
        sequences.push_back({.first_row = row,
                             .queries = s.queries,
                             .first_position = s.first_position,
                             .segments = {}});
        row += s.queries;
      }
      for (std::size_t i = 0; i < sequences.size(); ++i) sequences[i].segments = segments[i];
      test::at_every_level([&] {
        Array out(rows, wide);
        attention_cached(t.q.view(), out.view(), sequences,
                         {.heads = c.heads, .kv_heads = c.kv_heads, .head_dim = c.head_dim},
                         policy);
        EXPECT_TRUE(test::same_bits(out, expected)) << "D " << c.head_dim << " edges " << edges;
      });
    }
  }
}

}  // namespace
}  // namespace nb::kernels
