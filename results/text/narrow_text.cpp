#include "results/text/narrow_text.hpp"

#include <algorithm>

#include "harness/base/table.hpp"
#include "harness/base/visible_text.hpp"

namespace nb {
namespace {

constexpr std::size_t kNoteIndent = 4;

// Code points; what comparisons print has no wide characters.
std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::string wrapped(std::string_view words, std::size_t indent, std::string_view first) {
  const std::string shown = visible_line(words);
  std::string_view text = shown;
  std::string result, line(first);
  const std::string margin(indent, ' ');
  const std::size_t width = sentence_width();
  bool fresh = true;  // nothing but the margin on this line
  const auto end_line = [&] {
    while (!line.empty() && line.back() == ' ') line.pop_back();
    result += line + "\n";
    line = margin;
    fresh = true;
  };
  while (!text.empty()) {
    const std::size_t start = text.find_first_not_of(' ');
    if (start == text.npos) break;
    text.remove_prefix(start);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (!fresh && columns(line) + 1 + columns(word) > width) end_line();
    if (!fresh) line += " ";
    line += word;
    fresh = false;
  }
  if (!fresh || result.empty()) end_line();
  return result;
}

std::string narrow_table(const std::vector<std::string>& header,
                         const std::vector<NarrowRow>& given) {
  // A line break in a cell would be a row of its own.
  std::vector<NarrowRow> rows = given;
  for (NarrowRow& row : rows)
    for (std::string& cell : row.cells) cell = visible_line(cell);
  // What the columns behind the name need.
  std::size_t rest = 0;
  for (std::size_t c = 1; c < header.size(); ++c) {
    std::size_t width = columns(header[c]);
    for (const NarrowRow& row : rows)
      if (c < row.cells.size()) width = std::max(width, columns(row.cells[c]));
    rest += width + 2;
  }
  const std::size_t width = output_width();
  const std::size_t longest = width == 0 ? std::string::npos : rest + 8 < width ? width - rest : 8;
  TextTable table{header, {}};
  std::vector<bool> above;
  for (const NarrowRow& row : rows) {
    above.push_back(!row.cells.empty() && columns(row.cells[0]) > longest);
    table.rows.push_back(row.cells);
    if (above.back()) table.rows.back()[0].clear();
  }
  const auto lines = lines_of(to_text(table));  // header, rule, rows
  std::string text = lines[0] + "\n" + lines[1] + "\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (above[r]) text += wrapped(rows[r].cells[0], kNoteIndent);
    text += lines[r + 2] + "\n";
    if (!rows[r].note.empty())
      text += wrapped(rows[r].note, kNoteIndent, std::string(kNoteIndent, ' '));
  }
  return text;
}

}  // namespace nb
