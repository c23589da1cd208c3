// Colour of what is printed: verdicts, warnings, errors, headings.
#pragma once

#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb::cli {

// mode: "auto" (a terminal that TERM does not call dumb, and NO_COLOR is unset or empty:
// https://no-color.org), "always" or "never"; another is bad_input. Of this process, from now on.
Result<void> use_colour(std::string_view mode);

// The text with SGR sequences (ECMA-48) around what the table of words names; without them the
// bytes are the same. For stdout: whole cells and the first words of lines; for stderr: the
// program's name.
std::string painted_stdout(std::string_view text);
std::string painted_stderr(std::string_view text);

}  // namespace nb::cli
