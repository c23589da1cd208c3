#include "model/device/quantity.hpp"

#include <string_view>

namespace nb {
namespace {

// "estimate", "estimate:", "assumed: " and the like say nothing about why.
bool lacks_reason(std::string_view source, std::string_view word) {
  if (source.substr(0, word.size()) != word) return false;
  source.remove_prefix(word.size());
  if (source.empty() || source.front() != ':') return true;
  source.remove_prefix(1);
  return source.find_first_not_of(' ') == std::string_view::npos;
}

}  // namespace

FieldList Quantity::fields() {
  return {
      {"value", "the number", &value, {.unit = expected_unit_, .min = minimum_, .required = true}},
      {"unit", "its unit", &unit, {.one_of = {expected_unit_}, .required = true}},
      {"source", "citation or \"estimate: why\"", &source, {.required = true}}};
}

std::string source_problem(const std::string& source) {
  if (source.find_first_not_of(' ') == std::string::npos) return "is empty";
  if (lacks_reason(source, "estimate")) return "says estimate without why (\"estimate: why\")";
  if (lacks_reason(source, "assumed")) return "says assumed without why (\"assumed: why\")";
  return "";
}

}  // namespace nb
