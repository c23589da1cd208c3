// Numbers for people, by their unit: "12.3 ms", "1.2 GiB", "0.7350". Files keep full precision.
#pragma once

#include <optional>
#include <string>

#include "results/record.hpp"
#include "results/stats.hpp"

namespace nb {

std::string value_text(double value, const std::string& unit);
std::string value_text(const Metric& metric);  // "—" with the reason for a null
// With sign: "+0.0050", "−12.0 ms".
std::string signed_text(double value, const std::string& unit);
std::string interval_text(const Interval& interval, const std::string& unit);  // "[−0.02, +0.03]"
std::string percent_text(double share);                                        // "+1.3 %"
std::string p_text(double p);  // "0.0215", "< 0.0001"

}  // namespace nb
