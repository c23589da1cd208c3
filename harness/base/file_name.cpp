#include "harness/base/file_name.hpp"

#include "harness/base/hash.hpp"

namespace nb {

std::string plain_file_name(std::string_view text) {
  constexpr std::size_t kHashDigits = 16;
  std::string name(text);
  for (char& c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '_' || c == '-';
    if (!plain) c = '_';
  }
  if (name.size() <= kLongestFileName) return name;
  return name.substr(0, kLongestFileName - kHashDigits - 1) + "-" +
         sha256_hex(text).substr(0, kHashDigits);
}

}  // namespace nb
