// The tables as a reader sees them: `doctor --rules`.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"

namespace nb::doctor {

std::string rules_text(Language language);
Json rules_json();

}  // namespace nb::doctor
