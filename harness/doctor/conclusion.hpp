// Which ranks failed first where no cause was logged: concluded from what the ranks that waited for
// them say. Pure.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/doctor/check.hpp"
#include "harness/doctor/facts.hpp"
#include "harness/doctor/log_scan.hpp"

namespace nb::doctor {

struct Conclusion {
  std::vector<std::string> ranks;  // ascending
  const LogEvent* from = nullptr;  // what says it, of a rank that waited
  Said why;
};
// consequences: by time, at least one. missing_ranks: there is no log of them. Nothing: they say no
// more than that they waited.
std::optional<Conclusion> conclude(std::span<const LogEvent* const> consequences,
                                   std::span<const std::string> missing_ranks,
                                   const LogReading& reading, const Facts& facts);

}  // namespace nb::doctor
