// What a record says about the emulated device: numerics card, profile and policy.
#pragma once

#include "harness/suite/device_entry.hpp"
#include "results/record.hpp"

namespace nb {

// Fills numerics and the subject's "profile" and "policy".
void describe_device(const ResolvedDevice& device, Record& record);

}  // namespace nb
