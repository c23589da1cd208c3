#include "harness/base/table.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"

namespace nb {

namespace {

// "12", "-1.5 ms", "+3 %", "1e-3", ".5": what people read as a number.
bool looks_like_number(std::string_view cell) {
  std::size_t i = 0;
  if (cell.starts_with("−"))  // U+2212
    i = std::string_view("−").size();
  else if (!cell.empty() && (cell[0] == '+' || cell[0] == '-'))
    i = 1;
  if (i < cell.size() && cell[i] == '.') ++i;
  if (i >= cell.size() || cell[i] < '0' || cell[i] > '9') return false;
  // A date, a version or a name like 3d-mesh is text: after the digits only a unit set off by a
  // space or a per cent sign may follow.
  const std::size_t end = cell.find_first_not_of("0123456789.,eE+-", i);
  return end == cell.npos || cell[end] == ' ' || cell[end] == '%';
}

constexpr std::size_t kNarrowest = 10;  // columns of text are not made narrower

// The cells of a table, each row filled up to the same number of columns.
struct Grid {
  std::vector<std::vector<std::string>> lines;  // header first
  std::vector<std::size_t> widths;
  std::vector<std::size_t> least;  // widths at which no word is broken
  std::vector<bool> is_right;
};

Grid grid_of(const TextTable& table) {
  Grid grid;
  grid.lines.push_back(table.header);
  grid.lines.insert(grid.lines.end(), table.rows.begin(), table.rows.end());
  std::size_t columns = 0;
  for (const auto& line : grid.lines) columns = std::max(columns, line.size());
  grid.widths.assign(columns, 0);
  grid.least.assign(columns, kNarrowest);
  grid.is_right.assign(columns, false);
  for (auto& line : grid.lines) line.resize(columns);
  for (std::size_t c = 0; c < columns; ++c) {
    bool all_numbers = true;
    bool any_number = false;
    for (std::size_t r = 0; r < grid.lines.size(); ++r) {
      const std::string& cell = grid.lines[r][c];
      grid.widths[c] = std::max(grid.widths[c], display_width(cell));
      grid.least[c] = std::max(grid.least[c], widest_word(cell));
      if (r == 0 || cell.empty() || cell == "-" || cell == "—") continue;
      all_numbers = all_numbers && looks_like_number(cell);
      any_number = any_number || looks_like_number(cell);
    }
    grid.is_right[c] = all_numbers && any_number;
  }
  return grid;
}

std::string padded(const std::string& cell, std::size_t width, bool is_right) {
  const std::string fill(width - std::min(width, display_width(cell)), ' ');
  return is_right ? fill + cell : cell + fill;
}

std::size_t total_width(const Grid& grid) {
  std::size_t total = 0;
  for (const std::size_t width : grid.widths) total += width + 2;
  return total - std::min<std::size_t>(total, 2);
}

// Narrows the widest column of text, again and again, until the table fits or none can give more.
// The first column has names, which people copy and scripts look for: it stays.
void fit(Grid& grid, std::size_t max_width) {
  while (total_width(grid) > max_width) {
    std::size_t widest = 0;
    for (std::size_t c = 1; c < grid.widths.size(); ++c)
      if (!grid.is_right[c] && grid.widths[c] > grid.least[c] &&
          (widest == 0 || grid.widths[c] > grid.widths[widest]))
        widest = c;
    if (widest == 0) return;
    --grid.widths[widest];
  }
}

// One row; cells that are wider than their column take several lines.
std::string row_text(const Grid& grid, const std::vector<std::string>& cells) {
  std::vector<std::vector<std::string>> pieces;
  std::size_t height = 1;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    pieces.push_back(broken_lines(cells[c], std::max<std::size_t>(grid.widths[c], 1)));
    height = std::max(height, pieces.back().size());
  }
  std::string text;
  for (std::size_t i = 0; i < height; ++i) {
    std::string line;
    for (std::size_t c = 0; c < pieces.size(); ++c) {
      if (c > 0) line += "  ";
      line += padded(i < pieces[c].size() ? pieces[c][i] : "", grid.widths[c], grid.is_right[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

// Each cell as `safe` makes it.
template <class Safe>
TextTable with_cells(TextTable table, Safe safe) {
  for (std::string& cell : table.header) cell = safe(cell);
  for (auto& row : table.rows)
    for (std::string& cell : row) cell = safe(cell);
  return table;
}

// Signs that would end the cell or its row. A table's cell is one line.
std::string markdown_cell(std::string_view cell) {
  std::string safe;
  for (const char c : visible_text(cell)) {
    if (c == '|') safe += '\\';
    if (c == '\n')
      safe += "<br>";
    else
      safe += c;
  }
  return safe;
}

std::string scaled(double value, double step, const std::vector<std::string>& suffixes) {
  std::size_t i = 0;
  // Stops where three digits would still round up to the next suffix.
  while (i + 1 < suffixes.size() && std::abs(value) >= step * (1 - 0.0005)) {
    value /= step;
    ++i;
  }
  const int decimals = std::abs(value) >= 99.95 ? 0 : std::abs(value) >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, suffixes[i]);
}

}  // namespace

std::string to_text(const TextTable& table, std::size_t max_width) {
  Grid grid = grid_of(with_cells(table, visible_line));
  if (max_width > 0) fit(grid, max_width);
  std::string text;
  for (std::size_t r = 0; r < grid.lines.size(); ++r) {
    text += row_text(grid, grid.lines[r]);
    if (r > 0) continue;
    for (std::size_t c = 0; c < grid.widths.size(); ++c)
      text += (c > 0 ? "  " : "") + std::string(grid.widths[c], '-');
    text += "\n";
  }
  return text;
}

std::string to_markdown(const TextTable& table) {
  const Grid grid = grid_of(with_cells(table, markdown_cell));
  std::string text;
  for (std::size_t r = 0; r < grid.lines.size(); ++r) {
    for (std::size_t c = 0; c < grid.widths.size(); ++c)
      text += "| " + padded(grid.lines[r][c], grid.widths[c], grid.is_right[c]) + " ";
    text += "|\n";
    if (r > 0) continue;
    for (std::size_t c = 0; c < grid.widths.size(); ++c) {
      const std::string line(std::max<std::size_t>(grid.widths[c], 3) - 1, '-');
      text += "| " + (grid.is_right[c] ? line + ":" : line + "-") + " ";
    }
    text += "|\n";
  }
  return text;
}

std::string human_time_ns(double time_ns) {
  if (std::isnan(time_ns)) return "NaN";
  const double size = std::abs(time_ns);
  if (size < 999.5e6) return scaled(time_ns, 1000, {"ns", "µs", "ms"});
  const double time_s = time_ns / 1e9;
  if (size < 119.5e9) return scaled(time_s, 1000, {"s"});
  const auto seconds = static_cast<long long>(std::min(std::round(std::abs(time_s)), 9e15));
  const char* sign = time_ns < 0 ? "-" : "";
  if (seconds < 7200) return fmt::format("{}{} min {:02} s", sign, seconds / 60, seconds % 60);
  if (seconds < 2 * 86400)
    return fmt::format("{}{} h {:02} min", sign, seconds / 3600, seconds / 60 % 60);
  return fmt::format("{}{} d {:02} h", sign, with_commas(seconds / 86400), seconds / 3600 % 24);
}

std::string human_bytes(double size_bytes) {
  if (std::abs(size_bytes) < 1024) return fmt::format("{:.0f} B", size_bytes);
  return scaled(size_bytes, 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string human_rate(double rate, const std::string& unit) {
  std::vector<std::string> suffixes;
  for (const char* prefix : {"", "k", "M", "G", "T", "P"}) suffixes.push_back(prefix + unit);
  std::string text = scaled(rate, 1000, suffixes);
  text.erase(text.find_last_not_of(' ') + 1);  // no unit, no prefix
  return text;
}

std::string with_commas(long long value) {
  std::string digits = std::to_string(value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3;) {
    i -= 3;
    digits.insert(i, ",");
  }
  return digits;
}

std::string count_text(long long count, const std::string& one, const std::string& many) {
  const std::string& word = count == 1 || count == -1 ? one : many.empty() ? one + "s" : many;
  return with_commas(count) + " " + word;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

}  // namespace nb
