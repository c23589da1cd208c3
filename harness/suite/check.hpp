// What a suite must fulfil beyond the types and ranges of its fields: names that exist and are
// unique, batch arithmetic that divides, something to run.
#pragma once

#include <string>

#include "harness/suite/suite.hpp"

namespace nb {

// First fault found, as "<where>: /json/pointer: what; what to try".
Result<void> check_suite(const Suite& suite, const std::string& where);

}  // namespace nb
