// Tables as programs print them and people paste them: Markdown's pipes, box-drawing characters
// (│ ┃ ┌ ─, as rich and tabulate's grids write), ASCII grids (+---+). What their cells mean is for
// others: read_markdown.cpp, results/import/lm_eval_table.cpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nb {

struct PrintedTable {
  std::vector<std::vector<std::string>> rows;  // the first is the header; cells are trimmed
  std::vector<std::size_t> lines;              // of each row, in the text, from 1
  // Spaces before the first cell's text in each row: how harnesses show groups.
  std::vector<std::size_t> indents;
};
// In their order. Quotation marks of e-mail (> |…) and comments (# |…) before a row are left out.
// A cell that is broken over several lines of a grid is one text.
std::vector<PrintedTable> printed_tables(std::string_view text);

// "**71.2**", "`GSM8K`" without the marks, trimmed.
std::string without_marks(std::string_view text);

// "↑ 0.8001" without the arrow.
std::string without_arrow(std::string_view text);

// Column of that name, whatever its case; npos: there is none.
std::size_t column_of(const std::vector<std::string>& header, std::string_view name);

}  // namespace nb
