#pragma once

#include <string>

namespace nb::test {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace nb::test
