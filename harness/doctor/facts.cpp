#include "harness/doctor/facts.hpp"

#include <algorithm>
#include <charconv>

#include "harness/base/ascii.hpp"

namespace nb::doctor {

const std::string* Facts::find(std::string_view name) const {
  const auto value = values.find(name);
  return value == values.end() ? nullptr : &value->second;
}

std::optional<long long> Facts::number(std::string_view name) const {
  const std::string* text = find(name);
  if (text == nullptr) return std::nullopt;
  long long value = 0;
  const char* end = text->data() + text->size();
  const auto [at, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || at != end) return std::nullopt;
  return value;
}

std::string package_name(std::string_view text) {
  std::string name(text);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](char c) { return c == '-' || c == '.' ? '_' : lower_case(c); });
  return name;
}

}  // namespace nb::doctor
