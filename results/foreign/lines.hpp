// JSONL through a buffer: one parsed line at a time, in memory that does not grow with the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

// Python writes NaN and Infinity where JSON has no number: an error that says so, with file, line
// and column; or the texts "NaN", "Infinity" and "-Infinity", so that a reader sees where they are.
enum class NotNumbers { kRefused, kAsTexts };

// Blank lines are passed over, and so are those that `wants` says no of. Errors name file:line; so
// does `where`. The file may be packed with gzip, or UTF-16 (text_stream.hpp). A last line that
// breaks off, as a full disk leaves it, is an error; with `cut` its "file:line" is put there and
// the lines before it count.
Result<void> for_each_json_line(
    const std::filesystem::path& path,
    const std::function<Result<void>(const Json& line, const std::string& where)>& each,
    NotNumbers not_numbers = NotNumbers::kRefused, std::string* cut = nullptr,
    const std::function<bool(std::string_view line)>& wants = {});

// Fast, of what is usual: nothing where the text is no JSON, or has a doubled key or a huge
// integer; then json_io is to judge and to word it.
std::optional<Json> parse_usual_json(std::string_view text);

// As parse_json; a bare NaN is refused in words.
Result<Json> parse_foreign_json(std::string_view text, const std::string& where);
// A whole file.
Result<Json> read_foreign_json(const std::filesystem::path& path,
                               NotNumbers not_numbers = NotNumbers::kRefused);
bool is_not_number(const Json& value);  // one of those texts

// "0.5", 0.5, "1", true → a number; nothing for other values. Texts of numbers occur in several
// harnesses' files.
bool number_of(const Json& value, double& number);
// A count of items as any of these; 0 where it is none, or absurd.
std::int64_t count_of(double number);
std::int64_t count_of(const Json& value);
// A JSON value as plain text: strings as they are, numbers and others as short JSON.
std::string text_of(const Json& value);
void append_text_of(const Json& value, std::string& text);
// The member of that name; null where there is none, or where the value is no object.
const Json& member_of(const Json& value, std::string_view key);

}  // namespace nb
