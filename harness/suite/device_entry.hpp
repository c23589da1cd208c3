// The machine that a suite's device entry means: a profile, perhaps with another numerics policy
// or other software stacks.
#pragma once

#include <string>

#include "harness/base/result.hpp"
#include "harness/suite/suite.hpp"
#include "model/device/profile.hpp"
#include "model/train/port_defects.hpp"

namespace nb {

struct ResolvedDevice {
  DeviceProfile profile;
  std::string content;  // profile and policy as canonical JSON: what a node's key hashes
};

// Unknown profile, policy field, use, stack or defect: an error with the nearest one; an override
// or a defect that decides nothing (split_k without that accumulation) is one too. `where`:
// "suites/a.json: /devices/0".
Result<ResolvedDevice> resolve_device(const DeviceEntry& entry, const std::string& where);

// The entry with those of its defects that concern one of these, in the table's order: what a node
// says of its device; a mesh is of nodes that train. The defects are known ones.
DeviceEntry with_defects_in(DeviceEntry entry, DefectScope scope);
PortDefects defects_of(const DeviceEntry& entry);

}  // namespace nb
