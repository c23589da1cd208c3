// For targets whose sound inputs come from the program's own writers.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/result.hpp"

namespace nb::test {

// The value; a writer that fails is our own mistake.
template <class T>
T must(Result<T> result) {
  NB_CHECK(result.has_value(), "[fuzz seeds] {}", result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// Seeds that are plain texts.
inline auto seeds_of(std::vector<std::string> texts) {
  return [texts = std::move(texts)] { return texts; };
}

}  // namespace nb::test
