// Foreign text made harmless where people read it. Names, answers, settings and log lines come from
// files that anyone may have written; what would move a terminal's cursor, colour it, turn the
// order of letters, hide or end a line is shown as an escape instead: \x1b, \x9b (a byte that is
// not UTF-8), \u202e, \U000e0041. What letters and signs look like is left alone. Pure.
//
// Text for a terminal or a document passes here last (say.hpp, report/markup.hpp), so that no
// writer of a sentence has to think of it; what lays out columns asks for it first, so that widths
// are those of what is shown. A second pass changes nothing.
#pragma once

#include <string>
#include <string_view>

namespace nb {

// A text of several lines: newlines and tabs stay.
std::string visible_text(std::string_view text);
// What must stay on its line, a name in a sentence or a cell of a table: newlines and tabs are
// shown too, as \n and \t.
std::string visible_line(std::string_view text);
// The same for a JSON document: escaped within its strings as JSON escapes (\u202e), so that it
// reads as the same values.
std::string visible_json(std::string_view json);

bool is_utf8(std::string_view text);
// The text itself where it is UTF-8, else with its other bytes shown: what JSON can hold of a
// file's name, or of a table that somebody wrote in Latin-1.
std::string utf8_text(std::string text);

}  // namespace nb
