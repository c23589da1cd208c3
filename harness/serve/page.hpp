// The page that is served at /, built into the program. Its text is page.html.
#pragma once

#include <string>
#include <string_view>

namespace nb {

std::string_view page_html();
// Content-Security-Policy: this style and this script by their hashes, requests to this origin,
// nothing else.
std::string page_policy();
std::string_view logo_svg();

}  // namespace nb
