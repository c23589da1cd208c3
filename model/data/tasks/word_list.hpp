// The list of English words that the spelling tasks draw from: one lower-case word a line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

// In file order; CRLF and white space around a word are dropped. Errors name the line: an empty
// one, anything but a to z. The order decides every draw, so nothing is sorted and nothing left
// out.
Result<std::vector<std::string>> parse_word_list(std::string_view text, const std::string& where);
Result<std::vector<std::string>> read_word_list(const std::filesystem::path& path);

}  // namespace nb
