#include "results/text/item_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text_width.hpp"
#include "harness/base/visible_text.hpp"

namespace nb {
namespace {

constexpr char kDelete = 0x7f;

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

std::string folded(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = static_cast<unsigned char>(c) <= ' ' || c == kDelete;
    if (!is_blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  if (!line.empty() && line.back() == ' ') line.pop_back();
  return visible_line(line);
}

// The last columns of a text, "…" in front where something is cut off.
std::string ending(const std::string& text, std::size_t columns) {
  if (display_width(text) <= columns) return text;
  std::size_t begin = text.size();
  while (begin > 0) {
    std::size_t next = begin - 1;
    while (next > 0 && continues_character(text[next])) --next;
    if (display_width(std::string_view(text).substr(next)) + 1 > columns) break;
    begin = next;
  }
  return "…" + text.substr(begin);
}

}  // namespace

std::string shared_beginning(const std::vector<std::string>& texts) {
  if (texts.empty()) return "";
  std::size_t shared = texts.front().size();
  for (const std::string& text : texts) {
    const std::size_t most = std::min(shared, text.size());
    shared = 0;
    while (shared < most && text[shared] == texts.front()[shared]) ++shared;
  }
  const std::string& first = texts.front();
  while (shared > 0 && shared < first.size() && continues_character(first[shared])) --shared;
  return first.substr(0, shared);
}

std::string one_line(const ItemText& text, std::size_t columns) {
  if (!text.question.empty()) return shortened(folded(text.question), columns);
  if (!text.prompts.empty()) return ending(folded(shared_beginning(text.prompts)), columns);
  return "";
}

}  // namespace nb
