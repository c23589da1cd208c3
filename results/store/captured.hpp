// Records that harness/capture wrote on real hardware, in their own words.
#pragma once

#include "results/store/record.hpp"

namespace nb {

bool is_captured(const Record& record);

}  // namespace nb
