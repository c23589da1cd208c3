// A profile as bars: the parts of each rank's step, or of a waterfall.
#pragma once

#include "harness/profiler/waterfall.hpp"
#include "report/plot.hpp"

namespace nb::profiler {

Plot parts_plot(const Analysis& analysis, Language language);
Plot waterfall_plot(const Waterfall& waterfall, Language language);

}  // namespace nb::profiler
