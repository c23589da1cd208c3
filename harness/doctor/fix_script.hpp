// `doctor --fix-script`: findings about variables as a POSIX script to source. It sets and unsets;
// what deletes, installs, ends processes or needs root stands in comments. Pure.
#pragma once

#include <string>

#include "harness/doctor/examine.hpp"

namespace nb::doctor {

// Each finding with its rule. After it was sourced the rules that it mends find nothing again.
std::string fix_script(const Findings& findings);

}  // namespace nb::doctor
