// Colour of what is said (say.hpp), applied behind everything that makes text safe.
#pragma once

#include <string>
#include <string_view>

namespace nb {

// What colours text that was neutralised, before it is written; nullptr: nothing does.
using Paint = std::string (*)(std::string_view text);
void set_paint(Paint on_stdout, Paint on_stderr);

}  // namespace nb
