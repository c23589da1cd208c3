// JSONL through a memory map: one parsed line at a time, whatever the file's size.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

// Blank lines are passed over. Errors name file:line; so does `where`.
Result<void> for_each_json_line(
    const std::filesystem::path& path,
    const std::function<Result<void>(const Json& line, const std::string& where)>& each);

// "0.5", 0.5, "1", true → a number; nothing for other values. Texts of numbers occur in several
// harnesses' files.
bool number_of(const Json& value, double& number);
// A JSON value as plain text: strings as they are, numbers and others as short JSON.
std::string text_of(const Json& value);

}  // namespace nb
