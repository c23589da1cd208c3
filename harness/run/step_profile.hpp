// Where the host's time of a training step goes, as a tree: step → forward, backward, optimizer, …
// → kind of op → label. Of the host's clock: never part of a metric. Shown as a table and as a
// flame-like SVG.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"
#include "harness/base/table.hpp"
#include "model/device/host_profile.hpp"

namespace nb {

// Sums over all recorded steps. A parent's figures are the sums of its children's.
struct ProfileNode {
  std::string name;
  std::int64_t calls = 0;
  std::int64_t time_ns = 0;
  double flops = 0;  // of products
  std::vector<ProfileNode> children;
};

struct StepProfile {
  std::int64_t steps = 0;
  std::string simd;  // level that ran
  int threads = 0;
  double peak_gflop_s = 0;  // of that level and these threads, measured in the same process; 0: not
  ProfileNode step;
};

// Phases in the order in which a step passes them; below, the slowest first. What no op took stands
// under "simulated device" (lowering, memory, clock) and "between ops" (data, host code around
// ops). simd, threads and peak are the caller's.
StepProfile step_profile(const HostProfile& profile);

Json to_json(const StepProfile& profile);
Result<StepProfile> parse_step_profile(const Json& json, const std::string& where);

// A line a phase and a kind of op: calls and time a step, share of the step, rate of products and
// its share of the peak.
TextTable profile_table(const StepProfile& profile);

// One SVG file without scripts: a row per layer, width = time, each box with its figures as a
// tooltip.
std::string flame_svg(const StepProfile& profile, const std::string& title);

inline constexpr const char* kProfileJson = "host_profile.json";
inline constexpr const char* kProfileSvg = "host_profile.svg";

}  // namespace nb
