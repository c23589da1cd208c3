// The mark that some editors put in front of UTF-8.
#pragma once

#include <string_view>

namespace nb {

inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

constexpr std::string_view without_byte_order_mark(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  return text;
}

}  // namespace nb
