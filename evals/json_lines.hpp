// Files of one JSON object a line, plain or gzip: the lines, checked, each with its place.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

// Calls back with every object and "where:line". A byte order mark, CRLF and blank lines are
// accepted; text that is not UTF-8, not JSON or not an object is an error with file and line.
Result<void> for_each_json_line(
    std::string_view text, const std::string& where,
    const std::function<Result<void>(const Json& row, const std::string& where)>& use);

// A string member. Errors say what is missing or of the wrong kind, and which keys a row has.
Result<std::string> text_member(const Json& row, const char* key, const std::string& where,
                                std::string_view expected_keys);

// The file's text, unpacked when it begins as gzip does. Broken or cut archives are errors.
Result<std::string> read_text_or_gzip(const std::filesystem::path& path);

}  // namespace nb
