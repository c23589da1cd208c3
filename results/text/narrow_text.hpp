// Text for terminals: wrapped paragraphs, and tables whose long names and notes stand
// on lines of their own. For compare_text.cpp and gate_text.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "harness/base/text_width.hpp"

namespace nb {

// `words` in lines of at most sentence_width() columns, each ended by a newline; lines after the
// first are indented by `indent`, the first begins with `first`. A word is never broken: one that
// is longer than a line has one to itself.
std::string wrapped(std::string_view words, std::size_t indent = 0, std::string_view first = "");

struct NarrowRow {
  std::vector<std::string> cells;  // the first is the row's name
  std::string note;                // below the row, indented; empty: none
};
// Columns are aligned over all rows. Names that would make a line longer than output_width() stand
// above their row.
std::string narrow_table(const std::vector<std::string>& header,
                         const std::vector<NarrowRow>& given);

}  // namespace nb
