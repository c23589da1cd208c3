// Do these versions belong together? The rules VER1 to VER11 over versions.csv.
#pragma once

#include <string>
#include <vector>

#include "harness/doctor/check.hpp"
#include "harness/doctor/facts.hpp"

namespace nb::doctor {

// Of what facts.values and facts.packages have; a rule that lacks a version says nothing.
// file: where the versions were found.
std::vector<Check> check_versions(const Facts& facts, const std::string& file);

// The release of torch_npu's line that the version belongs to ("7.2.0"); empty: not listed.
std::string torch_npu_release_of(const std::string& torch_npu);

}  // namespace nb::doctor
