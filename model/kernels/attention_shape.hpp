// Checks and the views of one head, shared by attention forward, backward and reference. Internal
// to model/kernels.
#pragma once

#include <cmath>

#include "harness/base/check.hpp"
#include "model/kernels/attention.hpp"

namespace nb::kernels {

inline std::int64_t key_rows(const AttentionShape& s) {
  return s.key_rows == 0 ? s.keys : s.key_rows;
}
inline float score_scale(const AttentionShape& s) {
  return s.scale != 0.0f ? s.scale : 1.0f / std::sqrt(static_cast<float>(s.head_dim));
}
// The first key that a query at `position` sees, and the position behind the last query that sees
// the key at `position`, of `time`.
inline std::int64_t first_key(std::int64_t position, std::int64_t window) {
  return window > 0 && position > window ? position - window : 0;
}
inline std::int64_t queries_end(std::int64_t position, std::int64_t window, std::int64_t time) {
  return window > 0 && window < time - position ? position + window + 1 : time;
}
// Whether every query stands behind all keys; else the last one sees the last key.
inline bool sees_all_keys(const AttentionShape& s) { return s.first_position >= s.keys; }
inline std::int64_t group_size(const AttentionShape& s) { return s.heads / s.kv_heads; }

// Whether every sum is one chain, as the tiles compute it; else the definition does.
inline bool sums_are_chains(const MatmulPolicy& policy) {
  return policy.accumulation == Accumulation::kChain ||
         policy.accumulation == Accumulation::kHostBlas;
}

template <class View>
View head_of(View m, std::int64_t rows_per_sequence, std::int64_t rows, std::int64_t sequence,
             std::int64_t head, std::int64_t head_dim) {
  return column_block(row_block(m, sequence * rows_per_sequence, rows), head * head_dim, head_dim);
}

inline void check_attention(const char* op, const ConstAnyMatrix& q, const ConstAnyMatrix& k,
                            const ConstAnyMatrix& v, const ConstAnyMatrix& out,
                            const AttentionShape& s, const MatmulPolicy& policy) {
  NB_CHECK(s.heads > 0 && s.kv_heads > 0 && s.heads % s.kv_heads == 0,
           "[{}] {} key heads do not divide {} heads", op, s.kv_heads, s.heads);
  NB_CHECK((s.keys == s.first_position + s.queries || sees_all_keys(s)) && key_rows(s) >= s.keys,
           "[{}] keys {} != first position {} + queries {}, or key rows {} < keys", op, s.keys,
           s.first_position, s.queries, key_rows(s));
  NB_CHECK(s.window == 0 || s.keys > s.first_position || s.queries == 0,
           "[{}] queries at {} of {} keys, and a window", op, s.first_position, s.keys);
  NB_CHECK(q.rows == s.batch * s.queries && q.cols == s.heads * s.head_dim && out.rows == q.rows &&
               out.cols == q.cols,
           "[{}] q is ({},{}), out ({},{}), the shape says ({},{})", op, q.rows, q.cols, out.rows,
           out.cols, s.batch * s.queries, s.heads * s.head_dim);
  NB_CHECK(k.rows == s.batch * key_rows(s) && k.cols == s.kv_heads * s.head_dim &&
               v.rows == k.rows && v.cols == k.cols,
           "[{}] k is ({},{}), v ({},{}), the shape says ({},{})", op, k.rows, k.cols, v.rows,
           v.cols, s.batch * key_rows(s), s.kv_heads * s.head_dim);
  NB_CHECK(s.window >= 0, "[{}] window {} is negative", op, s.window);
  NB_CHECK(policy.split_k >= 1, "[{}] split_k is {}, not >= 1", op, policy.split_k);
  for (const ConstAnyMatrix* m : {&q, &k, &v, &out}) {
    NB_CHECK(m->bf16 == nullptr || (takes_bf16(policy) && policy.output == DType::kBf16),
             "[{}] bf16, but inputs are {} and results {}", op, name(policy.inputs),
             name(policy.output));
  }
}

inline void check_saved(const char* op, std::size_t size, const AttentionShape& s) {
  const auto wanted = static_cast<std::size_t>(s.batch * s.heads * s.queries);
  NB_CHECK(size == wanted, "[{}] {} saved values, (batch,heads,queries) has {}", op, size, wanted);
}

}  // namespace nb::kernels
