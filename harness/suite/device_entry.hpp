// The machine that a suite's device entry means: a profile, perhaps with another numerics policy
// or other software stacks.
#pragma once

#include <string>

#include "harness/base/result.hpp"
#include "harness/suite/suite.hpp"
#include "model/device/profile.hpp"

namespace nb {

struct ResolvedDevice {
  DeviceProfile profile;
  std::string content;  // profile and policy as canonical JSON: what a node's key hashes
};

// Unknown profile, policy field, use or stack: an error with the nearest one; an override that
// decides nothing (split_k without that accumulation) is one too. `where`: "suites/a.json:
// /devices/0".
Result<ResolvedDevice> resolve_device(const DeviceEntry& entry, const std::string& where);

}  // namespace nb
