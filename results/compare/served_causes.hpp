// What differs between two servers that answered as one model, as far as they and the probes tell
// (harness/remote): who they are, how they compute, what they make of messages. For confounders.cpp
// only.
#pragma once

#include <vector>

#include "results/compare/compare.hpp"

namespace nb {

// Fields begin with "/server". None where a side is no server.
void add_served(std::vector<Confounder>& found, const Record& a, const Record& b);
// What the probes could not find out of a side.
std::vector<Sentence> unknown_of_served(const Record& a, const Record& b);

}  // namespace nb
