// `doctor --bundle`: what was looked at, in one archive to show to others, redacted. The same input
// gives the same bytes: sorted, without times.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/doctor/assignments.hpp"
#include "harness/doctor/examine.hpp"
#include "harness/doctor/redact.hpp"

namespace nb::doctor {

struct Bundle {
  std::map<std::string, std::string> files;  // name in the archive → redacted text
  std::vector<std::string> left_out;         // names that the limit of 64 MiB left out
};

// logs: paths of what was read (folders stay out, their files are named); the last MiB of each goes
// in, and the block of its first error. environment: of the machine; others bring theirs in `logs`.
Bundle make_bundle(const Findings& findings, const std::vector<Setting>& environment,
                   const std::vector<std::string>& logs, Redactor& redactor);

// "logs/rank0.log  1,204 bytes", a line per file.
std::string list_text(const Bundle& bundle);
// tar, packed by gzip.
std::string bundle_bytes(const Bundle& bundle);

}  // namespace nb::doctor
