#include "tests/model/kernels/cached_attention.hpp"

#include <algorithm>
#include <list>

#include "model/kernels/reference/attention.hpp"

namespace nb::test {

using kernels::CachedSequence;
using kernels::CachedShape;
using kernels::KeyRows;
using kernels::KeySegment;

namespace {

KeyRows made(const KeyRows& from, std::vector<std::uint16_t>& to, const CachedShape& heads,
             const MatmulPolicy& policy) {
  const std::int64_t dim = heads.head_dim;
  to.resize(static_cast<std::size_t>(from.rows * from.cols));
  kernels::store_keys(
      {from.fp32, from.rows, from.cols, from.stride},
      {.bf16 = to.data(), .stride = dim, .head_stride = from.rows * dim, .head_dim = dim}, policy);
  KeyRows rows;
  rows.bf16 = to.data();
  rows.rows = from.rows;
  rows.cols = from.cols;
  rows.stride = dim;
  rows.head_stride = from.rows * dim;
  return rows;
}

enum class Storage { kFloats, kBf16, kMixed };  // mixed: every second segment in bf16

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
      parts.push_back(segment(c.story->k, c.story->v, begin, end - begin));
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
  kernels::attention_cached(q.view(), out.view(), sequences, heads, policy);
  const Array untouched(rows, wide(heads));
  for (std::size_t n = 0; n < chunks.size(); ++n) {
    const std::int64_t first = sequences[n].first_row;
    auto between = same_bits(std::span(out.view().row(first - 1), cols),
                             std::span(untouched.view().row(first - 1), cols));
    if (!between) return std::move(between) << " before sequence " << n;
    for (std::int64_t i = 0; i < chunks[n].count; ++i) {
      auto same =
          same_bits(std::span(out.view().row(first + i), cols),
                    std::span(chunks[n].story->expected.view().row(chunks[n].first + i), cols));
      if (!same) return std::move(same) << " in sequence " << n << ", query " << i;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace

KeySegment segment(const Array& k, const Array& v, std::int64_t begin, std::int64_t count) {
  return {row_block(k.view(), begin, count), row_block(v.view(), begin, count)};
}

Bf16Segment::Bf16Segment(const KeySegment& from, const CachedShape& heads,
                         const MatmulPolicy& policy)
    : source(from), rows{made(from.k, k, heads, policy), made(from.v, v, heads, policy)} {}

Story story(std::int64_t time, std::uint64_t seed, Values values, const MatmulPolicy& policy,
            const CachedShape& heads) {
  Story s = {heads, random_array(time, wide(heads), seed, values),
             random_array(time, narrow(heads), seed + 1, values),
             random_array(time, narrow(heads), seed + 2, values), Array(time, wide(heads))};
  expect_again(s, policy);
  return s;
}

void expect_again(Story& s, const MatmulPolicy& policy) {
  const std::int64_t time = s.q.view().rows;
  kernels::reference::attention(s.q.view(), s.k.view(), s.v.view(), s.expected.view(), {},
                                {.batch = 1,
                                 .queries = time,
                                 .keys = time,
                                 .heads = s.heads.heads,
                                 .kv_heads = s.heads.kv_heads,
                                 .head_dim = s.heads.head_dim,
                                 .window = s.heads.window},
                                policy);
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
    kernels::reference::attention(own_q.view(), k.view(), v.view(), own_out.view(), {},
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
  at_every_level(
      [&] {
        kernels::attention_cached(all.view(), out.view(), sequences, shape, policy);
        EXPECT_TRUE(same_bits(out, expected));
      },
      {1, 3});
}

}  // namespace nb::test
