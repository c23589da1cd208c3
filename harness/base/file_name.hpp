// File names out of foreign names: models, tasks, suites. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nb {

// Bytes of a name made here: with a key, an ending and what a temporary beside it adds (fs.hpp) it
// stays below the 255 of Linux's file systems.
inline constexpr std::size_t kLongestFileName = 180;

// Letters, digits, '.', '_' and '-' stay, every other byte becomes '_'. What is longer ends in the
// beginning of its hash, so that two names stay two files.
std::string plain_file_name(std::string_view text);

}  // namespace nb
