// What predictions alone answer, in words: how long a whole BASE stage takes on each side.
#pragma once

#include "results/compare/compare.hpp"

namespace nb {

// Of the largest predicted model whose stage fits on both sides: "d20, 8 × ascend_910b3: 13 h
// 32 min, 4.71 × h100_sxm (2 h 52 min); 32 rows do not fit, 12 do; expected error ± 4.2 %." The
// longer side is named first. Empty: there is no such pair.
Sentence predicted_sentence(const Comparison& comparison);

}  // namespace nb
