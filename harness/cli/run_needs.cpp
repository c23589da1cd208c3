#include "harness/cli/run_needs.hpp"

#include <algorithm>

#include "model/device/profile.hpp"

namespace nb::cli {

doctor::RunNeeds needs_of(const Planned& planned, const Forecast& forecast) {
  doctor::RunNeeds needs;
  needs.memory_bytes = forecast.peak_memory_bytes;
  needs.disk_bytes = forecast.disk_bytes;
  for (const DeviceEntry& entry : planned.suite.devices) {
    const auto profile = load_profile(entry.profile);
    if (profile && profile->identity.kind == "npu")
      needs.cards = std::max(needs.cards, static_cast<int>(profile->links.devices.whole()));
  }
  return needs;
}

}  // namespace nb::cli
