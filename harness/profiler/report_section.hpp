// A profile as a section of a report (report/report.hpp).
#pragma once

#include "harness/profiler/analysis.hpp"
#include "report/report.hpp"

namespace nb::profiler {

BroughtSection report_section(const Analysis& analysis, Language language);

}  // namespace nb::profiler
