// runner.py as it was when the program was built.
#pragma once

#include <string_view>

namespace nb::sandbox {

extern const std::string_view kRunnerText;

}  // namespace nb::sandbox
