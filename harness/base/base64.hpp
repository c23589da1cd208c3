// Base64 (RFC 4648, with padding), strict. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace nb {

std::string base64_encode(std::string_view bytes);
// Empty when the text is not exactly what base64_encode() would write for some bytes.
std::optional<std::string> base64_decode(std::string_view text);

}  // namespace nb
