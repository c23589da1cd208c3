// What a path holds, by content: a folder of one rank or of many, one table, a trace.
#pragma once

#include <filesystem>

#include "harness/base/result.hpp"
#include "harness/profiler/profile.hpp"

namespace nb::profiler {

// run_error (exit 4): nothing that is a profile, or damaged, in one sentence.
Result<Profile> open_profile(const std::filesystem::path& path);

// What was read, fit to be measured: ranks by number, kernels by start. Errors: a rank that is
// there twice, durations that no kernel has.
Result<Profile> finished_profile(Profile profile);

}  // namespace nb::profiler
