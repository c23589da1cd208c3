#include "report/markup.hpp"

#include "harness/base/visible_text.hpp"

namespace nb {

std::string markup_escaped(std::string_view text) {
  std::string safe;
  for (const char c : visible_text(text)) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      case '\'':
        safe += "&#39;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

}  // namespace nb
