// The scores of every model in one table, and a plot of them or of their differences.
#pragma once

#include <vector>

#include "report/sections.hpp"

namespace nb {

// Of results of other harnesses that are compared the table is left out: the head's says it all.
std::vector<Block> score_overview(const ReportContext& context);

}  // namespace nb
