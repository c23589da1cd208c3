// ASCII, whatever the locale says; bytes of other characters stay as they are.
#pragma once
#include <string>
#include <string_view>

namespace nb {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr char lower_case(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

inline std::string lowered(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = lower_case(c);
  return result;
}

// Without the blanks at both ends.
constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}
constexpr std::string_view trimmed(std::string_view text, std::string_view blanks = " \t\r\n") {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace nb
