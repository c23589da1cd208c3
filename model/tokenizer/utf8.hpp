// Well-formed UTF-8 (Unicode 15, table 3-7): where it ends, how it decodes with U+FFFD. Pure
// functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nb {

// Length of the well-formed sequence at the front of `text`; 0 if there is none (or text is empty).
std::size_t utf8_sequence_length(std::string_view text);
// Length of the longest prefix that is well-formed; text.size() when all of it is.
std::size_t utf8_valid_prefix(std::string_view text);
// Each maximal subpart of an ill-formed sequence becomes one U+FFFD (as Python's errors="replace").
std::string utf8_replace_invalid(std::string_view text);
std::size_t utf8_code_points(std::string_view valid_text);
// Length in bytes of the first `code_points` code points of well-formed text (all of it if
// shorter).
std::size_t utf8_prefix_bytes(std::string_view valid_text, std::size_t code_points);

}  // namespace nb
