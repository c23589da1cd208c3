// What a record says about the emulated device: numerics card, profile and policy.
#pragma once

#include <span>

#include "harness/suite/device_entry.hpp"
#include "results/store/record.hpp"

namespace nb {

// Fills numerics and the subject's "profile" and "policy": what decided the node's bits, run for
// these uses on so many cards, and nothing else.
void describe_device(const ResolvedDevice& device, std::span<const Use> uses, int cards,
                     Record& record);

}  // namespace nb
