// `doctor --explain`: all that the tables know of a code, a variable, a rule or a signature.
#pragma once

#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/language.hpp"
#include "harness/base/result.hpp"

namespace nb::doctor {

// name: "EI0006", "507015", "ERR02200", "ENV052", "HCCL_EXEC_TIMEOUT", "VER3", "NPU_OOM".
// bad_input: nothing is known of it; names the nearest.
Result<std::string> explain_text(const std::string& name, Language language);
Result<Json> explain_json(const std::string& name);

}  // namespace nb::doctor
