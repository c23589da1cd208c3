// Attention over cached keys against one pass over each sequence, which the definition gives.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "model/kernels/attention.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::test {

inline const MatmulPolicy kCachedPolicies[] = {
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
inline constexpr kernels::CachedShape kHeads = {.heads = 4, .kv_heads = 2, .head_dim = 6};
constexpr kernels::CachedShape windowed(std::int64_t window) {
  return {.heads = 4, .kv_heads = 2, .head_dim = 6, .window = window};
}
inline std::int64_t wide(const kernels::CachedShape& heads) { return heads.heads * heads.head_dim; }
inline std::int64_t narrow(const kernels::CachedShape& heads) {
  return heads.kv_heads * heads.head_dim;
}

// Rows [begin, begin + count) of k and v, in place.
kernels::KeySegment segment(const Array& k, const Array& v, std::int64_t begin, std::int64_t count);

// What a cache holds where the inputs are bf16: bf16, each head's positions side by side.
struct Bf16Segment {
  std::vector<std::uint16_t> k, v;
  kernels::KeySegment source, rows;

  Bf16Segment(const kernels::KeySegment& from, const kernels::CachedShape& heads,
              const MatmulPolicy& policy);
};

// One sequence of keys and queries, and what one pass gives for it.
struct Story {
  kernels::CachedShape heads;
  Array q, k, v, expected;
};
Story story(std::int64_t time, std::uint64_t seed, Values values, const MatmulPolicy& policy,
            const kernels::CachedShape& heads = kHeads);
// After a change of its q, k or v.
void expect_again(Story& s, const MatmulPolicy& policy);

// A chunk [first, first + count) of a story whose keys are cut at the given positions.
struct Chunk {
  const Story* story;
  std::int64_t first, count;
  std::vector<std::int64_t> cuts;  // ends of the segments, ascending; the last >= first + count
};
// All chunks in one batch, their keys in floats, and where the policy takes it all and some in
// bf16.
testing::AssertionResult batch_equals_one_pass(const std::vector<Chunk>& chunks,
                                               const MatmulPolicy& policy);

// Queries [first, first + count) over keys in segments, which stories need not have in common.
struct Part {
  std::int64_t first, count;
  std::vector<kernels::KeySegment> segments;
};
// A batch over one story's q, at every level, against the definition of each part alone.
void expect_batch(ConstMatrix q, const std::vector<Part>& parts, const kernels::CachedShape& shape,
                  const MatmulPolicy& policy);

}  // namespace nb::test
