// Measurements for people: one line each, with the geometric means of what is a share or a ratio.
#pragma once

#include <string>
#include <vector>

#include "harness/microbench/measurement.hpp"

namespace nb {

// Columns that no measurement has are left out.
std::string measurement_text(const std::vector<Measurement>& measurements);

}  // namespace nb
