// Which of many names somebody may have meant. Pure.
#pragma once

#include <span>
#include <string>

namespace nb {

// `; did you mean "a", "b" or "c"?`: names that hold the text, the shortest first, else the nearest
// by edit distance; three at most. Empty: none is near.
std::string meant_names(const std::string& text, std::span<const std::string> names);

}  // namespace nb
