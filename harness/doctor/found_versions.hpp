// Versions that a text states: lists of packages, pins of scripts, names of wheels, installers and
// images, version files, environment reports. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/doctor/assignments.hpp"

namespace nb::doctor {

struct FoundVersion {
  std::string component;  // as versions.csv calls it: "torch_npu", "cann", "hdk", "python"
  std::string version;    // normalised
  int line = 0;
};

// `pip list` (also --format json), `pip freeze`, `conda list`: package → version.
std::map<std::string, std::string> read_packages(std::string_view text);
// Pins of commands: pip, conda, wheels, .run files, image tags. The first of each component.
std::vector<FoundVersion> pins_of(const Script& script);
// "Version=25.2.0" of the driver, "version=8.3.RC1" of the toolkit, "PyTorch version: 2.7.1" of an
// environment report.
std::vector<FoundVersion> stated_versions(std::string_view text);
// "torch=2.7.1,torch_npu=2.7.1.post1" of --versions. bad_input: no such component, no version.
Result<std::vector<FoundVersion>> parse_versions(const std::string& text);

}  // namespace nb::doctor
