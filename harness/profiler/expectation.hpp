// What a device would need for a kernel, by npubench's model of it (clock `sim`), beside what was
// measured: a lower bound from peak and bandwidth, and the calibrated expectation. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "harness/profiler/figures.hpp"
#include "harness/profiler/table.hpp"
#include "harness/profiler/tables.hpp"
#include "model/device/profile.hpp"

namespace nb::profiler {

struct Expected {
  std::int64_t bound_ns = 0;  // max(FLOP / peak, bytes / bandwidth), nothing else
  std::int64_t time_ns = 0;   // the cost model's
};
// nullopt: a class that the model does not know, or shapes that are not known.
std::optional<Expected> expected_of(const Work& work, const DeviceProfile& device);

struct Expectation {
  std::int64_t measured_ns =
      0;  // of all that compute, and of collectives and copies with an expectation
  std::int64_t explained_ns = 0;  // measured, of those with an expectation
  std::int64_t expected_ns = 0;   // of the same
  double explained_share() const;
  double ratio() const;  // measured / expected
};
struct ExpectationTable {
  Table table;
  Expectation sum;
};
ExpectationTable expectation_table(const Profile& profile, const RankFigures& figures,
                                   const DeviceProfile& device, std::size_t top);

}  // namespace nb::profiler
