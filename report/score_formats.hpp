// The scores of a comparison as a table for papers and other programs (score_table.hpp: the same
// for terminals).
#pragma once

#include <string>

#include "results/compare/compare.hpp"

namespace nb {

std::string scores_markdown(const Comparison& comparison);
// For \input; needs the packages booktabs and longtable.
std::string scores_latex(const Comparison& comparison);
// Numbers as they are, not rounded: score, unit, a, b, difference, low and high of the 95 %
// interval, verdict. Empty cells: unknown.
std::string scores_csv(const Comparison& comparison);

}  // namespace nb
