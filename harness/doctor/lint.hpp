// The rules of environment.csv over what a text or a process sets.
#pragma once

#include <string>
#include <vector>

#include "harness/doctor/assignments.hpp"
#include "harness/doctor/check.hpp"
#include "harness/doctor/facts.hpp"

namespace nb::doctor {

// A script, guide, Dockerfile or Python file. What it says itself becomes facts for its rules:
// torchrun, set_env.sh, torch_npu.
std::vector<Check> lint_script(const Script& script, const Facts& facts, const std::string& file);

// All that a process has, or a part of it (is_whole false: what is not there is not known to be
// unset). Lines count from first_line.
std::vector<Check> lint_environment(const std::vector<Setting>& settings, const Facts& facts,
                                    const std::string& file, bool is_whole);

}  // namespace nb::doctor
