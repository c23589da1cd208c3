// Who is compared with whom, of what and when: a report's title and the line below it.
#pragma once

#include <string>

#include "report/report.hpp"

namespace nb {

struct HeadNames {
  std::string a = "A", b = "B";  // sides: "GPU", "h100_sxm", "gpu_results"
  std::string title;             // "NPU against GPU: Qwen2.5-0.5B"
  std::string subtitle;          // the day, the harness, what each side is; empty: nothing is known
};

// What the report is about: with a gate what it judges, else the only one; null of several, or
// none.
const Comparison* main_comparison(const ReportInput& input);

// Of that comparison by what its records say; without it the input's own title. The days
// are those of the records, so that two reports of one run have the same bytes.
HeadNames head_names(const Words& say, const ReportInput& input);

}  // namespace nb
