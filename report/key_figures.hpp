// The few numbers of a comparison that a reader takes away: speed, memory, quality, answers.
#pragma once

#include "report/document.hpp"
#include "report/head_names.hpp"

namespace nb {

// Those that the comparison knows, four at most: how fast B is to A and what memory it takes (the
// first training's, else the first node's), B's mean score to A's over the scores that are shares,
// and how many paired answers changed.
KeyFigures key_figures(const Words& say, const Comparison& comparison, const HeadNames& names);

}  // namespace nb
