// Causal attention with grouped keys (GQA), rounded as the fused kernels do (flash attention,
// npu_fusion_attention): fp32 scores, unnormalised probabilities rounded for the product with V,
// division last. Per query i at absolute position first_position + i, over the visible keys j <=
// that position:
//   s_j = sum over D of q·k_j (matmul inputs and order; +0 added) ; z_j = s_j * scale   (fp32)
//   m   = exact maximum of z (16 lanes by j mod 16, compare-and-select, NaN never greater)
//   p_j = exp(z_j - m) ; l = Σ p_j in 16 virtual lanes by absolute key index, fixed tree
//   out = round_output( sum over keys of p·v, absolute order, p and v rounded to the input
//   format, +0 added, / l )
// With a window w > 0 keys before that position - w are masked too: a query sees w keys and its
// own, as flash attention's window_size = (w, 0) has it. w >= keys has the bits of no window.
// Queries may stand behind all the keys that are there (first_position >= keys, no window): then
// each sees every one, and what it has of other keys joins by m and l (attention_merge.hpp).
// Masked keys are skipped. One pass, chunks and a KV cache therefore agree to the bit, whatever the
// batch. Products follow the policy's inputs and accumulation (kHostBlas is taken as kChain). A sum
// over D is cut as any product's; one over keys where K is the number of visible ones, at absolute
// positions; backward's over queries where K is all of them. kBlock16 and kSplitK are for studies:
// every head takes the naive definition (reference/attention.cpp), some hundred times as slow.
#pragma once

#include <cstdint>
#include <span>

#include "model/kernels/key_rows.hpp"
#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb::kernels {

struct AttentionShape {
  std::int64_t batch = 0;
  std::int64_t queries = 0;  // per sequence
  std::int64_t keys = 0;     // per sequence: first_position + queries, or first_position at most
  std::int64_t heads = 0;
  std::int64_t kv_heads =
      0;  // divides heads; kv head g serves heads/kv_heads consecutive query heads
  std::int64_t head_dim = 0;
  std::int64_t first_position = 0;  // of the first query: keys already in the cache
  std::int64_t key_rows = 0;  // rows between two sequences of k and v (cache capacity); 0: keys
  float scale = 0.0f;         // 0: fp32(1 / sqrt(head_dim))
  std::int64_t window = 0;    // keys before its own that a query sees; 0: all
};

// What forward saves besides q, k, v and out: (batch, heads, queries), contiguous. Empty spans: not
// saved.
struct AttentionSaved {
  std::span<float> row_max;  // m
  std::span<float> row_sum;  // l
};

// q, out: (B·queries, heads·D); k, v: (B·key_rows, kv_heads·D). Each may be bf16 where inputs and
// results are bf16.
void attention(const ConstAnyMatrix& q, const ConstAnyMatrix& k, const ConstAnyMatrix& v,
               const AnyMatrix& out, const AttentionSaved& saved, const AttentionShape& shape,
               const MatmulPolicy& policy);

// A ragged batch over cached keys: sequences of any lengths, each with its keys in pieces. The bits
// of a row are those of attention() over the whole sequence, whatever else is in the batch and
// however the keys are cut.
struct KeySegment {
  KeyRows k, v;  // rows = consecutive absolute positions, kv_heads·D columns; k and v alike
};
struct CachedSequence {
  std::int64_t first_row = 0;  // rows [first_row, first_row + queries) of q and out are its own
  std::int64_t queries = 0;
  std::int64_t first_position = 0;  // absolute position of the first query
  // Positions 0, 1, … in order: shared prefixes first, its own last. They hold at least
  // first_position + queries rows; rows behind those (spare capacity) are not read.
  std::span<const KeySegment> segments;
};
struct CachedShape {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  float scale = 0.0f;       // 0: fp32(1 / sqrt(head_dim))
  std::int64_t window = 0;  // keys before its own that a query sees; 0: all
};

// q, out: (rows, heads·D). The sequences' rows must not overlap; rows of none are left alone.
void attention_cached(ConstMatrix q, Matrix out, std::span<const CachedSequence> sequences,
                      const CachedShape& shape, const MatmulPolicy& policy);

// Training shape only: keys = queries, first_position = 0 or >= keys. Of some of a row's keys: with
// out, m and l of all of them its dq, dk and dv are parts of sums.
//   p = exp(z - m) / l ;  delta_i = Σ_d fma(dout,out,·) (16 lanes) ;  dp = sum over D of dout·v
//   ds = p * (dp - delta) ;  dq = round(scale * sum over keys of ds·k) ;
//   dk = round(scale * Σ_heads sum over queries of ds·q) ;  dv = round(Σ_heads sum over queries
//   of p·dout)
// with ds and p rounded to the input format in the products, +0 added to each sum, the heads of a
// group added in order in fp32, rounded to policy.output.
void attention_backward(const ConstAnyMatrix& dout, const ConstAnyMatrix& q,
                        const ConstAnyMatrix& k, const ConstAnyMatrix& v, const ConstAnyMatrix& out,
                        std::span<const float> row_max, std::span<const float> row_sum,
                        const AnyMatrix& dq, const AnyMatrix& dk, const AnyMatrix& dv,
                        const AttentionShape& shape, const MatmulPolicy& policy);

}  // namespace nb::kernels
