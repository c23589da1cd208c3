// What a planned suite asks of this computer, as doctor takes it.
#pragma once

#include "harness/cli/common.hpp"
#include "harness/doctor/run_checks.hpp"
#include "harness/run/preflight.hpp"

namespace nb::cli {

doctor::RunNeeds needs_of(const Planned& planned, const Forecast& forecast);

}  // namespace nb::cli
