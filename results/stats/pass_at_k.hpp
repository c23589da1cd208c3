#pragma once

#include <cstdint>

namespace nb {

// Chance that at least one of k samples is right, from `correct` of `samples`: 1 − C(n−c,k)/C(n,k),
// which no draw of k is biased against (arXiv 2107.03374). 1 <= k <= samples, 0 <= correct <=
// samples.
double pass_at_k(std::int64_t samples, std::int64_t correct, std::int64_t k);

}  // namespace nb
