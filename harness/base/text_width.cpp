#include "harness/base/text_width.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace nb {
namespace {

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Columns of a terminal that a code point takes: 0 for combining marks, 2 for East Asian wide ones.
std::size_t width_of(std::uint32_t code_point) {
  constexpr std::array kZero = {Range{0x0300, 0x036f}, Range{0x200b, 0x200f},
                                Range{0xfe00, 0xfe0f}};
  constexpr std::array kWide = {
      Range{0x1100, 0x115f},   Range{0x2e80, 0x303e},  Range{0x3041, 0xa4cf}, Range{0xac00, 0xd7a3},
      Range{0xf900, 0xfaff},   Range{0xfe30, 0xfe6f},  Range{0xff00, 0xff60}, Range{0xffe0, 0xffe6},
      Range{0x1f300, 0x1faff}, Range{0x20000, 0x3fffd}};
  const auto is_in = [&](const Range& r) { return r.first <= code_point && code_point <= r.last; };
  if (std::any_of(kZero.begin(), kZero.end(), is_in)) return 0;
  return std::any_of(kWide.begin(), kWide.end(), is_in) ? 2 : 1;
}

// Bytes of the character that begins there; broken UTF-8 counts byte by byte.
std::size_t size_at(std::string_view text, std::size_t i) {
  const auto lead = static_cast<unsigned char>(text[i]);
  const std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  return std::min(size, text.size() - i);
}

// The longest beginning that fits, at least one character.
std::size_t fitting_bytes(std::string_view text, std::size_t width) {
  std::size_t used = 0, end = 0;
  while (end < text.size()) {
    const std::size_t size = size_at(text, end);
    used += display_width(text.substr(end, size));
    if (used > width && end > 0) break;
    end += size;
  }
  return end;
}

// Columns of the character that begins there.
std::size_t width_at(std::string_view text, std::size_t i) {
  return display_width(text.substr(i, size_at(text, i)));
}

// Where a word may end for its line to fit: the last place within `width` columns, else the first
// behind them; the word's size where there is none. Commas and bars count only in a word that is
// wider than a whole line of `line_width`.
std::size_t break_in_word(std::string_view word, std::size_t width, std::size_t line_width) {
  const bool at_joints = display_width(word) > line_width;
  std::size_t used = 0, last = 0;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t next = at + size_at(word, at);
    used += width_at(word, at);
    const bool is_place =
        next < word.size() && (width_at(word, at) == 2 || width_at(word, next) == 2 ||
                               (at_joints && (word[at] == ',' || word[at] == '|')));
    if (is_place && (used <= width || last == 0)) last = next;
    if (used > width && last > 0) return last;
    at = next;
  }
  return last > 0 && used > width ? last : word.size();
}

// What COLUMNS says; 0: nothing.
std::size_t given_columns() {
  const char* given = std::getenv("COLUMNS");
  std::size_t columns = 0;
  if (given != nullptr) {
    const std::string_view text = given;
    std::from_chars(text.data(), text.data() + text.size(), columns);
  }
  return columns;
}

// Columns of the terminal behind a stream; 0: there is none.
std::size_t columns_of(int stream) {
  winsize size{};
  return ::ioctl(stream, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Columns before the description of "  --flag TEXT   description", else before the first word.
std::size_t hanging_indent(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  if (first == 0) return 0;
  const std::size_t gap = line.find("  ", first);
  constexpr std::size_t kOptionColumns = 30;  // CLI11's, for the flag and its type
  if (gap == std::string_view::npos)          // a flag may fill its column but for one blank
    return line[first] == '-' && line.size() > kOptionColumns && line[kOptionColumns - 1] == ' '
               ? kOptionColumns
               : first;
  const std::size_t next = line.find_first_not_of(' ', gap);
  return next == std::string_view::npos ? first : display_width(line.substr(0, next));
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    std::uint32_t code_point = size == 1 ? lead : lead & (0x7fU >> size);
    for (std::size_t j = 1; j < size && i + j < text.size(); ++j)
      code_point = code_point << 6 | (static_cast<unsigned char>(text[i + j]) & 0x3fU);
    width += width_of(code_point);
    i += size;
  }
  return width;
}

std::size_t terminal_width() {
  if (const std::size_t columns = columns_of(STDERR_FILENO); columns > 0) return columns;
  const std::size_t given = given_columns();
  return given > 0 ? given : kTextWidth;
}

std::size_t output_width() {
  const std::size_t given = given_columns();
  return given > 0 ? given : columns_of(STDOUT_FILENO);
}

std::size_t sentence_width() {
  constexpr std::size_t kLeastSentence = 40;
  const std::size_t width = output_width();
  return width == 0 ? kTextWidth : std::clamp(width, kLeastSentence, kTextWidth);
}

std::vector<std::string> broken_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;  // columns of the last line
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t word_at = text.find_first_not_of(' ', at);
    if (word_at == std::string_view::npos) break;
    const std::size_t end = std::min(text.find(' ', word_at), text.size());
    // Blanks at the beginning are an indent; between words they stay unless the line breaks there.
    const std::string_view gap = text.substr(at, word_at - at);
    std::string_view word = text.substr(word_at, end - word_at);
    at = end;
    if (used == 0 || used + gap.size() + display_width(word) <= width) {
      lines.back() += gap;
      used += gap.size();
    } else {
      lines.emplace_back();
      used = 0;
    }
    while (used + display_width(word) > width) {
      const std::size_t cut = break_in_word(word, width - std::min(width, used), width);
      if (cut == word.size()) break;
      lines.back() += word.substr(0, cut);
      word.remove_prefix(cut);
      lines.emplace_back();
      used = 0;
    }
    lines.back() += word;
    used = display_width(lines.back());
  }
  return lines;
}

std::size_t widest_word(std::string_view text) {
  std::size_t widest = 0, used = 0;
  for (std::size_t at = 0; at < text.size(); at += size_at(text, at)) {
    const std::size_t width = width_at(text, at);
    used = text[at] == ' ' ? 0 : width == 2 ? 2 : used + width;
    widest = std::max(widest, used);
  }
  return widest;
}

std::string wrapped_help(std::string_view help, std::size_t width) {
  std::string text;
  for (std::size_t at = 0; at < help.size();) {
    const std::size_t end = std::min(help.find('\n', at), help.size());
    const std::string_view line = help.substr(at, end - at);
    at = end + 1;
    if (display_width(line) <= width) {
      text += std::string(line) + "\n";
      continue;
    }
    // What stands before the description is kept; where it is too wide, all is broken alike.
    const std::size_t indent = hanging_indent(line);
    const bool hangs = indent > 0 && indent <= width / 2;
    const std::size_t start = hangs ? fitting_bytes(line, indent) : 0;
    const auto lines = broken_lines(line.substr(start), width - (hangs ? indent : 0));
    for (std::size_t i = 0; i < lines.size(); ++i)
      text += (i == 0  ? std::string(line.substr(0, start))
               : hangs ? std::string(indent, ' ')
                       : "") +
              lines[i] + "\n";
  }
  if (!help.ends_with('\n') && text.ends_with('\n')) text.pop_back();
  return text;
}

std::string shortened(std::string_view text, std::size_t width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= 1) return width == 0 ? "" : "…";
  return std::string(text.substr(0, fitting_bytes(text, width - 1))) + "…";
}

}  // namespace nb
