#include "harness/base/markdown.hpp"

#include "harness/base/visible_text.hpp"

namespace nb {
namespace {

// "12." and "12)" begin an ordered list: the place of the sign; npos: no list.
std::size_t list_sign(std::string_view line) {
  const std::size_t end = line.find_first_not_of("0123456789");
  const bool is_list = end != 0 && end != line.npos && (line[end] == '.' || line[end] == ')') &&
                       (end + 1 == line.size() || line[end + 1] == ' ');
  return is_list ? end : line.npos;
}

}  // namespace

std::string markdown_text(std::string_view text) {
  constexpr std::string_view kAddress = "://", kHost = "www.";
  const std::string shown = visible_line(text);
  std::string safe;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const char c = shown[i];
    if (c == '<')
      safe += "&lt;";
    else if (c == '>')
      safe += "&gt;";
    else if (c == '&')
      safe += "&amp;";
    else if (std::string_view("*_`[]\\~").find(c) != std::string_view::npos)
      (safe += '\\') += c;
    else if (shown.compare(i, kAddress.size(), kAddress) == 0)
      safe += "\\:";
    else if (shown.compare(i, kHost.size(), kHost) == 0) {
      safe += "www\\.";
      i += kHost.size() - 1;
    } else
      safe += c;
  }
  return safe;
}

std::string markdown_line(std::string_view text) {
  std::string safe = markdown_text(text);
  if (safe.empty()) return safe;
  if (std::string_view("#+-=:|").find(safe[0]) != std::string_view::npos)
    safe.insert(safe.begin(), '\\');
  if (const std::size_t sign = list_sign(safe); sign != std::string::npos)
    safe.insert(safe.begin() + static_cast<std::ptrdiff_t>(sign), '\\');
  return safe;
}

}  // namespace nb
