#include "evals/humaneval/pass_at_k.hpp"

#include "harness/base/check.hpp"

namespace nb {

double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k) {
  NB_CHECK(c >= 0 && c <= n && k >= 1 && k <= n, "[pass_at_k] n {}, c {}, k {}", n, c, k);
  if (n - c < k) return 1;
  double all_wrong = 1;
  for (std::int64_t i = n - c + 1; i <= n; ++i)
    all_wrong *= 1.0 - static_cast<double>(k) / static_cast<double>(i);
  return 1 - all_wrong;
}

}  // namespace nb
