// Columns of a terminal: how many a text takes, how many there are, and text broken to fit. Pure
// but for terminal_width(), output_width() and sentence_width().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

// What sentences and help are made for; messages of one sentence may be longer.
inline constexpr std::size_t kTextWidth = 80;

// UTF-8; combining marks take no column, East Asian wide characters two.
std::size_t display_width(std::string_view text);

// Columns of the terminal behind stderr; else COLUMNS, else kTextWidth.
std::size_t terminal_width();

// Columns of what is printed on stdout: COLUMNS where it is set, else those of the terminal there,
// else 0: it goes to a file or another program, and tables are as wide as they are.
std::size_t output_width();

// Columns for sentences and help: kTextWidth, or fewer where the output has fewer.
std::size_t sentence_width();

// The text as lines of at most `width` columns, broken at blanks, between East Asian wide
// characters, and after the commas and bars of a list that alone is wider. A word is never broken:
// one that is wider has a line to itself. At least one line; width at least 1.
std::vector<std::string> broken_lines(std::string_view text, std::size_t width);

// Columns of the widest part of a text that broken_lines() breaks at no width; lists of commas
// count as a whole.
std::size_t widest_word(std::string_view text);

// Every line of a help text that is wider than `width`, broken; what follows stands under the
// line's own text: under the description where the line is "  --flag TEXT   description".
std::string wrapped_help(std::string_view help, std::size_t width = kTextWidth);

// The text's beginning with "…" where it is wider than `width`.
std::string shortened(std::string_view text, std::size_t width);

}  // namespace nb
