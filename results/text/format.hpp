// Numbers for people, by their unit: "12.3 ms", "1.2 GiB", "0.7350". Files keep full precision.
#pragma once

#include <optional>
#include <string>

#include "harness/base/json_io.hpp"
#include "results/stats/stats.hpp"
#include "results/store/record.hpp"

namespace nb {

std::string value_text(double value, const std::string& unit);
std::string value_text(const Metric& metric);  // "—" with the reason for a null
// With sign: "+0.0050", "−12.0 ms".
std::string signed_text(double value, const std::string& unit);
// The same for tables that name the unit in the row: without "bit/byte", "nat" and the like, where
// has_plain_unit; units that people scale ("26.2 ms", "1.2 GiB") stay.
bool has_plain_unit(const std::string& unit);
std::string plain_value(double value, const std::string& unit);
std::string plain_signed(double value, const std::string& unit);
std::string rounded_value(double value, const std::string& unit);  // two digits: "0.033"
// Plain values.
Json interval_json(const std::optional<Interval>& interval);  // [low, high], or null
std::string interval_text(const Interval& interval, const std::string& unit);  // "[−0.02, +0.03]"
std::string percent_text(double share);                                        // "+1.3 %"
std::string p_text(double p);  // "0.0215", "< 0.0001"

}  // namespace nb
