// What was understood of foreign results, and what was not.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "results/foreign/foreign.hpp"

namespace nb {

std::string explain_text(const ForeignResults& results);  // terminal, 80 columns
Json explain_json(const ForeignResults& results);         // schema "npubench.import/1"

}  // namespace nb
