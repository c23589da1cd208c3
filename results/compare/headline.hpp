// The first line of a comparison, in words: what differs, what does not, what it cannot tell.
#pragma once

#include "results/compare/compare.hpp"

namespace nb {

// Over the scores of imported pairs and of fixed weights, and over seeds: which are worse, which
// better (two-sided p after Holm over all of them at most .05), on how many nothing is shown and
// how large a difference would have been seen. Without scores: what predictions say. Empty: there
// is neither.
Sentence headline(const Comparison& comparison);

}  // namespace nb
