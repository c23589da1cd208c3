// All that the program says. Text goes to stdout and stderr here and nowhere else, neutralised
// (visible_text.hpp), so no name from a foreign file reaches a terminal as it is; what moves the
// cursor on purpose is written by the functions below, around the neutralised text. A stream that
// is closed or full ends nothing here: main looks at stdout at the end, and stderr is not what the
// exit code speaks of.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "harness/base/visible_text.hpp"

namespace nb {

void say_on_stdout(std::string_view text);
// What an error quotes may have line breaks: lines behind the first are indented, so that none
// looks like one of ours.
void say_on_stderr(std::string_view text);
// The same, formatted.
template <class... Args>
void say(fmt::format_string<Args...> format, Args&&... args) {
  say_on_stdout(fmt::format(format, std::forward<Args>(args)...));
}
// One line, whatever line breaks the texts in it have.
template <class... Args>
void say_line(fmt::format_string<Args...> format, Args&&... args) {
  say_on_stdout(visible_line(fmt::format(format, std::forward<Args>(args)...)) + "\n");
}
// One JSON document or line of one, ended by a newline: it reads as the same values.
void say_json(std::string_view json);

// One line in place of the terminal's current one; empty: nothing.
void redraw_line_on_stderr(std::string_view line);
// The terminal behind stdout, emptied.
void clear_terminal();

// Bytes for another program, as they are; a terminal gets them neutralised.
void put_on_stdout(std::string_view bytes);

}  // namespace nb
