// Judged claims as text and JSON: `npubench predict claims TABLE`.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/predict/claims.hpp"

namespace nb::cli {

std::string claims_text(const JudgedTable& judged);
Json claims_json(const JudgedTable& judged);

}  // namespace nb::cli
