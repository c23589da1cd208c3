// Traces in Chrome's format, read event by event in bounded memory: PyTorch's (GPU), Ascend's
// trace_view.json and msprof's, and those of npubench. What a trace is shows in its events.
#pragma once

#include <istream>
#include <string>

#include "harness/base/result.hpp"
#include "harness/profiler/profile.hpp"

namespace nb::profiler {

struct TraceUse {
  // A folder of Ascend has its kernels in kernel_details.csv: the trace only says when they were
  // issued.
  bool only_issues = false;
};
// Adds to the rank and says in profile.kind, .clock and .is_gpu what it was. bad_input: not a
// trace, cut or damaged (with the byte), or without a single kernel.
Result<void> read_trace(std::istream& bytes, const std::string& where, TraceUse use,
                        Profile& profile, Rank& rank);

}  // namespace nb::profiler
