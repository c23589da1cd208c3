#include "results/stats/pass_at_k.hpp"

#include "harness/base/check.hpp"

namespace nb {

double pass_at_k(std::int64_t samples, std::int64_t correct, std::int64_t k) {
  NB_CHECK(1 <= k && k <= samples && 0 <= correct && correct <= samples,
           "[pass@k] {} of {} samples, k {}", correct, samples, k);
  if (samples - correct < k) return 1;
  double none = 1;
  for (std::int64_t j = samples - correct + 1; j <= samples; ++j)
    none *= 1 - static_cast<double>(k) / static_cast<double>(j);
  return 1 - none;
}

}  // namespace nb
