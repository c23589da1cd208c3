#include "model/kernels/reference/attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "model/kernels/attention_shape.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "model/kernels/reference/vector_math.hpp"

namespace nb::kernels::reference {
namespace {

// The sum over D of two rows.
float row_product(const float* a, const float* b, std::int64_t dim, const MatmulPolicy& policy) {
  return chain_sum(dim, policy, [&](std::int64_t d) { return Pair{a[d], b[d]}; });
}

MatmulPolicy chain_policy(const MatmulPolicy& policy) {
  MatmulPolicy result = policy;
  if (policy.accumulation == Accumulation::kHostBlas) result.accumulation = Accumulation::kChain;
  return result;
}

// The sum over positions [0, all) of which those before `from` and from `to` on are masked: those
// are skipped, but the pairs of the bf16 order, and the parts of block16 and split_k, stand at
// absolute positions. Parts of which nothing is seen are none.
template <class Element>
float masked_sum(std::int64_t from, std::int64_t to, std::int64_t all, const MatmulPolicy& policy,
                 const Element& element) {
  const bool swaps = policy.inputs == DType::kBf16;
  const std::int64_t part = part_length(all, policy);
  const auto chain = [&](std::int64_t begin, std::int64_t end) {
    float sum = 0.0f;
    const auto step = [&](std::int64_t k) {
      if (k < begin || k >= end) return;
      const Pair p = element(k);
      sum = std::fma(matmul_input(p.a, policy.inputs), matmul_input(p.b, policy.inputs), sum);
    };
    for (std::int64_t k = begin / 2 * 2; k < end; k += 2) {
      step(swaps ? k + 1 : k);
      step(swaps ? k : k + 1);
    }
    return sum;
  };
  std::int64_t begin = from;
  const auto next = [&] {
    const std::int64_t end = std::min(to, (begin / part + 1) * part);
    const float sum = chain(begin, end);
    begin = end;
    return sum;
  };
  float sum = next();
  while (begin < to) sum = sum + next();
  return sum + 0.0f;
}

float lane_maximum(const std::vector<float>& z) {
  float lanes[16];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (lanes[i % 16] < z[i]) lanes[i % 16] = z[i];
  }
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) {
      if (lanes[i] < lanes[i + width]) lanes[i] = lanes[i + width];
    }
  }
  return lanes[0];
}

void one_head(ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix out, float* row_max,
              float* row_sum, const AttentionShape& s, const MatmulPolicy& policy) {
  const float scale = score_scale(s);
  for (std::int64_t i = 0; i < q.rows; ++i) {
    const std::int64_t visible = std::min(s.keys, s.first_position + i + 1);
    const std::int64_t first = first_key(s.first_position + i, s.window);
    std::vector<float> p(static_cast<std::size_t>(visible),
                         -std::numeric_limits<float>::infinity());
    for (std::int64_t j = first; j < visible; ++j) {
      p[static_cast<std::size_t>(j)] = row_product(q.row(i), k.row(j), s.head_dim, policy) * scale;
    }
    const float max = lane_maximum(p);
    const float sum = lane_sum(visible, [&](float acc, std::int64_t j) {
      if (j < first) return acc;
      float& value = p[static_cast<std::size_t>(j)];
      value = reference::exp(value - max);
      return acc + value;
    });
    for (std::int64_t d = 0; d < s.head_dim; ++d) {
      const float total = masked_sum(first, visible, visible, policy, [&](std::int64_t j) {
        return Pair{p[static_cast<std::size_t>(j)], v.row(j)[d]};
      });
      out.row(i)[d] = matmul_output(total / sum, policy);
    }
    if (row_max != nullptr) row_max[i] = max;
    if (row_sum != nullptr) row_sum[i] = sum;
  }
}

// p and ds (T, T) of one query head, zero where masked.
struct Weights {
  std::vector<float> p, ds;
};
Weights weights(ConstMatrix dout, ConstMatrix q, ConstMatrix k, ConstMatrix v, ConstMatrix out,
                const float* row_max, const float* row_sum, const AttentionShape& s,
                const MatmulPolicy& policy) {
  const float scale = score_scale(s);
  const auto time = static_cast<std::size_t>(s.queries);
  Weights w = {std::vector<float>(time * time), std::vector<float>(time * time)};
  for (std::int64_t i = 0; i < s.queries; ++i) {
    const float delta = lane_sum(s.head_dim, [&](float acc, std::int64_t d) {
      return std::fma(dout.row(i)[d], out.row(i)[d], acc);
    });
    const std::int64_t end = sees_all_keys(s) ? s.keys : i + 1;
    for (std::int64_t j = first_key(i, s.window); j < end; ++j) {
      const std::size_t at = static_cast<std::size_t>(i) * time + static_cast<std::size_t>(j);
      const float z = row_product(q.row(i), k.row(j), s.head_dim, policy) * scale;
      w.p[at] = reference::exp(z - row_max[i]) / row_sum[i];
      w.ds[at] = w.p[at] * (row_product(dout.row(i), v.row(j), s.head_dim, policy) - delta);
    }
  }
  return w;
}

}  // namespace

void attention(ConstMatrix q, ConstMatrix k, ConstMatrix v, Matrix out, const AttentionSaved& saved,
               const AttentionShape& shape, const MatmulPolicy& given) {
  const MatmulPolicy policy = chain_policy(given);
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t h = 0; h < shape.heads; ++h) {
      const std::int64_t kv = h / group_size(shape), at = (b * shape.heads + h) * shape.queries;
      one_head(head_of(q, shape.queries, shape.queries, b, h, shape.head_dim),
               head_of(k, key_rows(shape), shape.keys, b, kv, shape.head_dim),
               head_of(v, key_rows(shape), shape.keys, b, kv, shape.head_dim),
               head_of(out, shape.queries, shape.queries, b, h, shape.head_dim),
               saved.row_max.empty() ? nullptr : saved.row_max.data() + at,
               saved.row_sum.empty() ? nullptr : saved.row_sum.data() + at, shape, policy);
    }
  }
}

void attention_backward(ConstMatrix dout, ConstMatrix q, ConstMatrix k, ConstMatrix v,
                        ConstMatrix out, std::span<const float> row_max,
                        std::span<const float> row_sum, Matrix dq, Matrix dk, Matrix dv,
                        const AttentionShape& shape, const MatmulPolicy& given) {
  const MatmulPolicy policy = chain_policy(given);
  const std::int64_t time = shape.queries, dim = shape.head_dim, group = group_size(shape);
  const float scale = score_scale(shape);
  for (std::int64_t b = 0; b < shape.batch; ++b) {
    for (std::int64_t kv = 0; kv < shape.kv_heads; ++kv) {
      const auto key = [&](auto m) { return head_of(m, time, time, b, kv, dim); };
      std::vector<float> dk_sum(static_cast<std::size_t>(time * dim)), dv_sum = dk_sum;
      for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
        const auto head = [&](auto m) { return head_of(m, time, time, b, h, dim); };
        const std::int64_t at = (b * shape.heads + h) * time;
        const Weights w = weights(head(dout), head(q), key(k), key(v), head(out),
                                  row_max.data() + at, row_sum.data() + at, shape, policy);
        const auto weight = [&](const std::vector<float>& m, std::int64_t i, std::int64_t j) {
          return m[static_cast<std::size_t>(i * time + j)];
        };
        for (std::int64_t t = 0; t < time; ++t) {
          const bool sees_all = sees_all_keys(shape);
          const std::int64_t first = first_key(t, shape.window), seen = sees_all ? time : t + 1;
          const std::int64_t end = queries_end(t, shape.window, time), begin = sees_all ? 0 : t;
          for (std::int64_t d = 0; d < dim; ++d) {
            const float dq_sum = masked_sum(first, seen, seen, policy, [&](std::int64_t j) {
              return Pair{weight(w.ds, t, j), key(k).row(j)[d]};
            });
            head(dq).row(t)[d] = matmul_output(scale * dq_sum, policy);
            const float dk_head = masked_sum(begin, end, time, policy, [&](std::int64_t i) {
              return Pair{weight(w.ds, i, t), head(q).row(i)[d]};
            });
            const float dv_head = masked_sum(begin, end, time, policy, [&](std::int64_t i) {
              return Pair{weight(w.p, i, t), head(dout).row(i)[d]};
            });
            const auto cell = static_cast<std::size_t>(t * dim + d);
            const bool is_first = h == kv * group;
            dk_sum[cell] = is_first ? dk_head : dk_sum[cell] + dk_head;
            dv_sum[cell] = is_first ? dv_head : dv_sum[cell] + dv_head;
          }
        }
      }
      for (std::int64_t t = 0; t < time; ++t) {
        for (std::int64_t d = 0; d < dim; ++d) {
          const auto cell = static_cast<std::size_t>(t * dim + d);
          key(dk).row(t)[d] = matmul_output(scale * dk_sum[cell], policy);
          key(dv).row(t)[d] = matmul_output(dv_sum[cell], policy);
        }
      }
    }
  }
}

}  // namespace nb::kernels::reference
