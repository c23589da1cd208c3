// The scores and costs of a comparison whose pairs and seeds are filled. For compare.cpp, which
// calls it last.
#pragma once

#include <vector>

#include "results/compare/compare.hpp"

namespace nb {

// In the order of the pairs, then the seeds.
std::vector<Score> scores_of(const Comparison& comparison);
std::vector<Cost> costs_of(const Comparison& comparison);

}  // namespace nb
