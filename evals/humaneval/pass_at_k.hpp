// pass@k of Chen et al. 2021 (arXiv 2107.03374, equation 1).
#pragma once

#include <cstdint>
#include <span>

namespace nb {

// How likely it is that k of n samples hold a right one, when c of the n are right:
// 1 − C(n − c, k) / C(n, k), as the product that does not overflow. 0 <= c <= n, 1 <= k <= n.
double pass_at_k(std::int64_t n, std::int64_t c, std::int64_t k);

}  // namespace nb
