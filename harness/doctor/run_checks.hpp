// What of this machine a suite cannot live with: the checks that `npubench run` makes before it
// starts, and that `npubench doctor --plan` shows beside all others.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/base/result.hpp"
#include "harness/doctor/assignments.hpp"
#include "harness/doctor/facts.hpp"

namespace nb::doctor {

struct RunNeeds {
  std::uint64_t memory_bytes = 0, disk_bytes = 0;  // of this computer
  int cards = 0;  // of the largest Ascend server that is emulated; 0: none is
};
void add_needs(const RunNeeds& needs, Facts& facts);

// The mask of visible devices, read as the runtime reads it. bad_input: one sentence, with the
// remedy.
Result<void> check_visible_devices(const std::vector<Setting>& environment, int cards);
// That, and memory.
Result<void> check_ready(const RunNeeds& needs, const std::vector<Setting>& environment);

}  // namespace nb::doctor
