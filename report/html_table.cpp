#include <fmt/core.h>

#include <algorithm>

#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"
#include "report/html.hpp"
#include "report/markup.hpp"

namespace nb {
namespace {

// Narrower tables fit a telephone as they are; wide ones a tablet neither (html_style.cpp).
constexpr std::size_t kCardColumns = 3, kWideColumns = 7;
// Longer texts than that may break, numbers or not.
constexpr std::size_t kMaxNowrap = 28;

std::vector<std::string> lines_of(const std::string& cell) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  for (std::size_t end = cell.find('\n'); end != std::string::npos; end = cell.find('\n', at)) {
    lines.push_back(cell.substr(at, end - at));
    at = end + 1;
  }
  lines.push_back(cell.substr(at));
  return lines;
}

bool is_number(std::string_view text) {
  if (text == "—" || text == "-") return true;
  if (text.size() > kMaxNowrap) return false;
  for (int i = 0; i < 2; ++i)
    for (const std::string_view sign : {"+", "-", "−", "±", "[", "< "})
      if (text.starts_with(sign)) text.remove_prefix(sign.size());
  return !text.empty() && text[0] >= '0' && text[0] <= '9';
}

// Columns that are aligned to the right: every cell is a number or empty, and there is one.
std::vector<bool> number_columns(const TextTable& table) {
  std::vector<bool> numbers(table.header.size(), false);
  for (std::size_t c = 0; c < numbers.size(); ++c) {
    bool any = false, all = true;
    for (const auto& row : table.rows) {
      if (c >= row.size() || row[c].empty()) continue;
      const bool number = is_number(lines_of(row[c]).front());
      any = any || number;
      all = all && number;
    }
    numbers[c] = any && all;
  }
  return numbers;
}

std::string_view class_of(Tone tone) {
  switch (tone) {
    case Tone::kGood:
      return "good";
    case Tone::kBad:
      return "bad";
    case Tone::kUnsure:
      return "unsure";
    case Tone::kPlain:
      break;
  }
  return "";
}

// Longer words may break, behind their joints; words of Chinese have blanks nowhere and break
// between characters by themselves.
constexpr std::size_t kWholeWord = 28;  // columns

std::string long_word_html(std::string_view word) {
  std::string out;
  for (std::size_t at = 0; at < word.size();) {
    const std::size_t end = std::min(word.find_first_of("/_-:=,.&", at), word.size() - 1) + 1;
    const std::string piece = markup_escaped(std::string(word.substr(at, end - at)));
    if (at > 0) out += "<wbr>";
    // A digest, which has no joints.
    out += end - at > kWholeWord ? "<span class=d>" + piece + "</span>" : piece;
    at = end;
  }
  return out;
}

std::string word_html(const std::string& word) {
  if (widest_word(word) < display_width(word)) return markup_escaped(word);  // Chinese
  if (display_width(word) > kWholeWord) return long_word_html(word);
  // Signs behind which a browser breaks a word.
  return word.find_first_of("-/?!%|") != word.npos
             ? "<span class=w>" + markup_escaped(word) + "</span>"
             : markup_escaped(word);
}

std::string line_html(const std::string& line) {
  if (is_number(line) && line.find(' ') != std::string::npos)
    return "<span class=w>" + markup_escaped(line) + "</span>";
  std::string out;
  for (std::size_t at = 0; at <= line.size();) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    out += (at > 0 ? " " : "") + word_html(line.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string cell_html(const std::string& cell) {
  if (cell.find('\n') == std::string::npos) return line_html(cell);
  const auto lines = lines_of(cell);
  std::string out = "<span class=v>" + line_html(lines.front());
  for (std::size_t i = 1; i < lines.size(); ++i) {
    const std::string_view tone = class_of(tone_of(lines[i]));
    out += tone.empty() ? "<small>" : fmt::format("<small class={}>", tone);
    out += line_html(lines[i]) + "</small>";
  }
  return out + "</span>";
}

// For "content" of a style sheet inside HTML. Control characters are escaped: a browser's parser
// changes some of them, and the sheet would no longer have the hash that the page's policy names.
std::string css_string(const std::string& text) {
  std::string safe = "\"";
  for (const char c : visible_text(text)) {
    const bool is_control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (c == '"' || c == '\\' || c == '<' || is_control)
      safe += fmt::format("\\{:x} ", static_cast<int>(c == '\n' ? ' ' : c));
    else
      safe += c;
  }
  return safe + "\"";
}

}  // namespace

std::string html_table(const TextTable& table, const std::string& caption, std::size_t index,
                       std::string& column_names, const Pictures& pictures) {
  const bool cards = table.header.size() >= kCardColumns;
  const std::vector<bool> numbers = number_columns(table);
  std::string out = fmt::format("<div class=scroll><table id=t{}{}>", index,
                                !cards                               ? ""
                                : table.header.size() < kWideColumns ? " class=cards"
                                                                     : " class=\"cards wide\"");
  if (!caption.empty()) out += "<caption>" + markup_escaped(caption) + "</caption>";
  out += "<thead><tr>";
  for (std::size_t c = 0; c < table.header.size(); ++c) {
    out += fmt::format("<th scope=col{}>{}</th>", numbers[c] ? " class=n" : "",
                       cell_html(table.header[c]));
    if (cards)
      column_names += fmt::format("#t{} tbody tr>:nth-child({}){{--name:{}}}\n", index, c + 1,
                                  css_string(table.header[c]));
  }
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const auto& row = table.rows[r];
    out += "<tr>";
    for (std::size_t c = 0; c < table.header.size(); ++c) {
      const bool is_drawn = c == pictures.column && r < pictures.svgs.size();
      if (is_drawn && !pictures.beside_text) {
        out += "<td>" + pictures.svgs[r] + "</td>";
        continue;
      }
      const std::string cell = c < row.size() ? row[c] : std::string();
      std::string style(class_of(tone_of(cell)));
      if (numbers[c]) style = "n";
      if (is_drawn) {
        out += "<td class=drawn>" + pictures.svgs[r] + cell_html(cell) + "</td>";
        continue;
      }
      const bool is_name = c == 0 && !numbers[0];
      out += is_name ? "<th scope=row" : "<td";
      if (!style.empty()) out += " class=" + style;
      out += ">" + cell_html(cell) + (is_name ? "</th>" : "</td>");
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace nb
