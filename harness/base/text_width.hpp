// Columns of a terminal: how many a text takes, how many there are, and text broken to fit. Pure
// but for terminal_width().
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

// What tables and help are made for; messages of one sentence may be longer.
inline constexpr std::size_t kTextWidth = 80;

// UTF-8; combining marks take no column, East Asian wide characters two.
std::size_t display_width(std::string_view text);

// Columns of the terminal behind stderr; else COLUMNS, else kTextWidth.
std::size_t terminal_width();

// The text as lines of at most `width` columns: broken at blanks, and within a word, after '/',
// '-',
// '_', ',' or anywhere, only where the word alone is wider. At least one line; width at least 1.
std::vector<std::string> broken_lines(std::string_view text, std::size_t width);

// Every line of a help text that is wider than `width`, broken; what follows stands under the
// line's own text: under the description where the line is "  --flag TEXT   description".
std::string wrapped_help(std::string_view help, std::size_t width = kTextWidth);

// The text's beginning with "…" where it is wider than `width`.
std::string shortened(std::string_view text, std::size_t width);

}  // namespace nb
