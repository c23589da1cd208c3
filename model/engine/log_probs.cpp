#include "model/engine/log_probs.hpp"

#include <algorithm>

#include "model/engine/sampler.hpp"
#include "model/kernels/cross_entropy.hpp"

namespace nb {

void score_rows(ConstMatrix logits, std::span<const int> targets, std::span<float> log_probs,
                std::span<int> argmax, const PointwisePolicy& pointwise) {
  // No cap, and rounding what is rounded changes nothing.
  kernels::score_targets(logits, targets, log_probs, argmax,
                         {.softcap = 0, .pointwise = pointwise});
}

std::vector<float> log_probs_of(std::span<const float> row, std::span<const int> targets,
                                const PointwisePolicy& pointwise) {
  std::vector<float> log_probs(targets.size());
  // The same row over and over, as a matrix of stride 0.
  score_rows({row.data(), std::ssize(targets), std::ssize(row), 0}, targets, log_probs, {},
             pointwise);
  return log_probs;
}

std::vector<TokenLogProb> most_likely(std::span<const float> row, std::int64_t ids, int k,
                                      const PointwisePolicy& pointwise) {
  std::vector<int> order;
  const auto z = [&](int id) { return row[static_cast<std::size_t>(id)]; };
  for (int id = 0; id < std::min(ids, std::ssize(row)); ++id)
    if (z(id) == z(id)) order.push_back(id);
  const auto count = std::min<std::ptrdiff_t>(k, std::ssize(order));
  std::ranges::partial_sort(order, order.begin() + count,
                            [&](int a, int b) { return z(a) != z(b) ? z(a) > z(b) : a < b; });
  // (z - max) - log(sum), of which the largest one's is 0 - log(sum).
  const int largest = first_largest(row);
  const float of_largest = log_probs_of(row, std::span(&largest, 1), pointwise).front();
  std::vector<TokenLogProb> top;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    const int id = order[static_cast<std::size_t>(i)];
    top.push_back({id, (z(id) - z(largest)) + of_largest});
  }
  return top;
}

}  // namespace nb
