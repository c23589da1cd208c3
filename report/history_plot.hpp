// The history of a metric as a plot: its values by run, in the order of time, and their levels.
#pragma once

#include "harness/base/result.hpp"
#include "report/plot.hpp"
#include "results/store/history.hpp"

namespace nb {

// bad_input, with what to choose by: several units or clocks, more groups than a reader can tell
// apart, no value at all.
Result<Plot> history_plot(const History& history);

}  // namespace nb
