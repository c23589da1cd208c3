#include "model/kernels/lm_head.hpp"

#include <algorithm>
#include <cstring>

#include "harness/base/parallel.hpp"
#include "model/kernels/lm_head_rows.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/vector_math.hpp"

namespace nb::kernels {
namespace {

// body(first row, logits): whole rows of x wᵀ, for policies whose sums are no single chains.
template <class Body>
void each_plain_block(ConstMatrix x, ConstMatrix w, const MatmulPolicy& policy, const Body& body) {
  constexpr std::int64_t kBlock = 64;
  const Scratch memory(static_cast<std::size_t>(std::min(kBlock, x.rows) * w.rows) * sizeof(float));
  for (std::int64_t first = 0; first < x.rows; first += kBlock) {
    const std::int64_t count = std::min(kBlock, x.rows - first);
    const Matrix z = matrix(memory.floats(), count, w.rows);
    matmul_nt(row_block(x, first, count), w, z, policy);
    body(first, z);
  }
}

template <class T>
std::span<T> part(std::span<T> values, std::int64_t first, std::int64_t count) {
  if (values.empty()) return values;
  return values.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

// body(first row, count, t of the first, stride of t, what is known of the rows), block by block.
template <class Body>
void each_block(ConstMatrix x, const HeadWeight& w, const LmHeadPolicy& policy,
                const inner::CapScalars& cap, const Body& body) {
  const HeadPanels panels(w, PackFor::kNt, gemm_format(policy.products.inputs), policy.products);
  const HeadRows head(x, panels.words(), w.tokens().rows, policy, cap);
  const std::int64_t blocks = (x.rows + kHeadRows - 1) / kHeadRows;
  parallel_for(static_cast<std::size_t>(blocks), 1, [&](std::size_t block) {
    check_float_mode();
    const Scratch memory(head.floats() * sizeof(float));
    const std::int64_t first = static_cast<std::int64_t>(block) * kHeadRows;
    const std::int64_t count = std::min(kHeadRows, x.rows - first);
    HeadRows::Row rows[kHeadRows];
    head.run(first, count, memory.floats(), rows);
    body(first, count, memory.floats(), head.stride(), rows);
  });
}

// Of rows whose targets are all valid.
void score_rows(ConstMatrix x, const HeadWeight& w, std::span<const int> targets,
                std::span<float> log_probs, std::span<int> argmax, const LmHeadPolicy& policy) {
  if (!head_works_in_blocks(policy)) {
    return each_plain_block(x, w.tokens(), policy.products, [&](std::int64_t first, Matrix z) {
      score_targets(z, part(targets, first, z.rows), part(log_probs, first, z.rows),
                    part(argmax, first, z.rows), policy.loss);
    });
  }
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = head_cap_scalars(policy, true);
  each_block(x, w, policy, cap,
             [&](std::int64_t first, std::int64_t count, const float* t, std::int64_t stride,
                 const HeadRows::Row* rows) {
               for (std::int64_t i = 0; i < count; ++i, t += stride) {
                 const auto row = static_cast<std::size_t>(first + i);
                 const auto [max, is_ordinary] = rows[i];
                 const float sum = table.capped_sum(t, w.tokens().rows, cap, max, is_ordinary);
                 log_probs[row] = (table.capped_value(t[targets[row]], cap) - max) - log(sum);
                 if (!argmax.empty())
                   argmax[row] = static_cast<int>(table.first_capped(t, w.tokens().rows, cap, max));
               }
             });
}

}  // namespace

void lm_head_losses(ConstMatrix x, const HeadWeight& w, std::span<const int> targets,
                    std::span<float> losses, const LmHeadPolicy& policy) {
  check_head("lm_head_losses", x, w.tokens(), targets, losses.size());
  if (!head_works_in_blocks(policy)) {
    return each_plain_block(x, w.tokens(), policy.products, [&](std::int64_t first, Matrix z) {
      softcap_cross_entropy(z, part(targets, first, z.rows), part(losses, first, z.rows), {},
                            policy.loss);
    });
  }
  const inner::Table& table = inner::table();
  const inner::CapScalars cap = head_cap_scalars(policy, false);
  each_block(x, w, policy, cap,
             [&](std::int64_t first, std::int64_t count, const float* t, std::int64_t stride,
                 const HeadRows::Row* rows) {
               for (std::int64_t i = 0; i < count; ++i, t += stride) {
                 const auto row = static_cast<std::size_t>(first + i);
                 losses[row] = 0.0f;
                 if (targets[row] == kIgnoreTarget) continue;
                 const float sum =
                     table.capped_sum(t, w.tokens().rows, cap, rows[i].max, rows[i].is_ordinary);
                 losses[row] = log(sum) - (table.capped_value(t[targets[row]], cap) - rows[i].max);
               }
             });
}

void lm_head_scores(ConstMatrix x, const HeadWeight& w, std::span<const int> targets,
                    std::span<float> log_probs, std::span<int> argmax, const LmHeadPolicy& policy) {
  check_head("lm_head_scores", x, w.tokens(), targets, log_probs.size());
  NB_CHECK(argmax.empty() || argmax.size() == targets.size(),
           "[lm_head_scores] {} argmax for {} targets", argmax.size(), targets.size());
  const auto ignored = std::count(targets.begin(), targets.end(), kIgnoreTarget);
  if (ignored == 0) return score_rows(x, w, targets, log_probs, argmax, policy);
  // The wanted rows, moved together.
  const std::int64_t wanted = x.rows - ignored;
  const Scratch memory(static_cast<std::size_t>(wanted * (x.cols + 3)) * sizeof(float));
  const Matrix rows = matrix(memory.floats(), wanted, x.cols);
  const auto count = static_cast<std::size_t>(wanted);
  const std::span scores(memory.floats() + rows.size(), count);
  const std::span row_targets(reinterpret_cast<int*>(scores.data() + count), count);
  const std::span best(row_targets.data() + count, count);
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < x.rows; ++i) {
    const int target = targets[static_cast<std::size_t>(i)];
    if (target == kIgnoreTarget) continue;
    std::memcpy(rows.row(next), x.row(i), static_cast<std::size_t>(x.cols) * sizeof(float));
    row_targets[static_cast<std::size_t>(next++)] = target;
  }
  score_rows(rows, w, row_targets, scores, best, policy);
  for (std::size_t i = 0, from = 0; i < targets.size(); ++i) {
    const bool is_wanted = targets[i] != kIgnoreTarget;
    log_probs[i] = is_wanted ? scores[from] : 0.0f;
    if (!argmax.empty()) argmax[i] = is_wanted ? best[from] : -1;
    if (is_wanted) ++from;
  }
}

}  // namespace nb::kernels
