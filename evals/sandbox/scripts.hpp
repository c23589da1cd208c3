// The scripts of the two interpreters as they were when npubench was built, each behind wire.py.
#pragma once

#include <string_view>

namespace nb::sandbox {

extern const std::string_view kRunnerText;   // runner.py: has the program
extern const std::string_view kCheckerText;  // checker.py: has the test

}  // namespace nb::sandbox
