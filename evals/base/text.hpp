// White space as Python sees it, because the reference harness is Python.
#pragma once

#include <string_view>

namespace nb {

// str.strip(): white space of str.isspace() off both ends. `text` must be valid UTF-8.
std::string_view strip(std::string_view text);
// Bytes of the white space at the beginning.
std::size_t leading_space(std::string_view text);

}  // namespace nb
