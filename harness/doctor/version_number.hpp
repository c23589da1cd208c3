// Version numbers as the makers of this stack write them, and their order. Pure.
#pragma once

#include <string>
#include <string_view>

namespace nb::doctor {

// "v2.7.1.post1+cpu" → "2.7.1.post1", "CANN 8.3.rc1" → "8.3.RC1", "Ascend HDK 25.2.0" → "25.2.0".
std::string normal_version(std::string_view text);
// Digits before .post, .rc, .dev: "2.7.1.post1" → "2.7.1".
std::string base_version(std::string_view version);
// -1, 0, 1: RC1 < RC2 < … < final < .post1; missing numbers count as 0.
int compare_versions(std::string_view a, std::string_view b);
// x or X in `required` matches any number: "25.2.X", "8.3.RCx".
bool version_matches(std::string_view version, std::string_view required);
// ">= 3.9,< 3.12", "3.9 3.10 3.11", "2.1.0": one of a list, or all of some bounds.
bool version_allowed(std::string_view version, std::string_view required);

}  // namespace nb::doctor
