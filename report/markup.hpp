// Text inside HTML, XML and SVG.
#pragma once

#include <string>
#include <string_view>

namespace nb {

std::string markup_escaped(std::string_view text);

}  // namespace nb
