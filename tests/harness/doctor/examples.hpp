// The examples of environment.csv as what they stand for: "[cards=8,machine] A=1;B=2" is a
// process's environment under those facts, "[…] $ line\nline" a script.
#pragma once

#include <string>
#include <vector>

#include "harness/doctor/check.hpp"
#include "harness/doctor/facts.hpp"

namespace nb::test {

// What the rules find in it.
std::vector<doctor::Check> found_in_example(const std::string& example);

}  // namespace nb::test
