// Text inside Markdown, as GitHub and GitLab render it. Pure.
#pragma once

#include <string>
#include <string_view>

namespace nb {

// One line that reads as the text itself: no emphasis, code, HTML, link or image comes of it, not
// even of a bare address; controls and line breaks are shown (visible_text.hpp). Bars are left to
// to_markdown (table.hpp). For places where a line does not begin.
std::string markdown_text(std::string_view text);
// The same where a line begins: no heading, list or quotation either.
std::string markdown_line(std::string_view text);

}  // namespace nb
