// Reads and writes JSON: comments allowed where asked, duplicate keys and NaN refused, errors with
// file, line and column. Objects are sorted by key, so equal values have equal bytes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

using Json = nlohmann::json;

enum class JsonComments { kRefused, kAllowed };

// `where` (a file name) opens every error message.
Result<Json> parse_json(std::string_view text, const std::string& where,
                        JsonComments comments = JsonComments::kRefused);
// One line of a JSONL file; where: "file:line", to which errors add the column.
Result<Json> parse_json_line(std::string_view line, const std::string& where);
Result<Json> read_json(const std::filesystem::path& path,
                       JsonComments comments = JsonComments::kRefused);

// null where there is none.
Json optional_json(const std::optional<double>& value);
Json optional_json(const std::optional<std::int64_t>& value);

// Bytes are a function of the value: sorted keys, shortest round-trip numbers. indent < 0: one
// line. NaN and infinities are an error that names their /json/pointer.
Result<std::string> dump_json(const Json& value, int indent = 2);
// Whole or not at all (fs.hpp, write_file); ends with a newline.
Result<void> write_json(const std::filesystem::path& path, const Json& value, int indent = 2);

}  // namespace nb
