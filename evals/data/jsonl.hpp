// JSON lines as benchmarks come: one object a line; a byte order mark, CRLF and blank lines are
// accepted.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

// use(object, "file:12") for every line, until one fails. Errors of the lines themselves: bytes
// that are not UTF-8 (named), no JSON, no object.
Result<void> for_each_json_line(
    std::string_view text, const std::string& where,
    const std::function<Result<void>(const Json& row, const std::string& line)>& use);

}  // namespace nb
