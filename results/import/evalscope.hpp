// What the readers of evalscope's files share.
#pragma once

#include <filesystem>
#include <string>

namespace nb {

inline constexpr const char* kEvalscope = "evalscope";

// <outputs> of <outputs>/reviews/<model>/<file> and of <outputs>/reports/<model>/<file>: named for
// the time at which the evaluation began.
std::string evalscope_outputs(const std::filesystem::path& path);

}  // namespace nb
