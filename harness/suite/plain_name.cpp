#include "harness/suite/plain_name.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace nb {

bool is_plain_name(const std::string& name) {
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
  };
  return !name.empty() && name[0] != '.' && name[0] != '-' && name.size() <= 80 &&
         std::all_of(name.begin(), name.end(), plain);
}

std::string not_a_name(const std::string& name) {
  return fmt::format(
      "\"{}\" is not a name; use at most 80 letters, digits, _ . - and begin with a letter or "
      "digit",
      name);
}

}  // namespace nb
