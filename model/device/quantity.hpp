// Entries of a profile: a number with its unit and source, or a choice with its source. A source is
// a citation ("spec: …"), "estimate: why" or, for numerics, "assumed: why"; a missing one is an
// error.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "harness/base/fields.hpp"

namespace nb {

// The unit is part of the member's declaration; a file with another unit is refused.
struct Quantity {
  Quantity() = default;
  explicit Quantity(std::string expected_unit, double minimum = 0)
      : unit(expected_unit), expected_unit_(std::move(expected_unit)), minimum_(minimum) {}
  double value = 0;
  std::string unit;
  std::string source;
  FieldList fields();
  std::int64_t whole() const { return static_cast<std::int64_t>(value); }  // towards zero
  std::uint64_t bytes() const { return static_cast<std::uint64_t>(value); }

 private:
  std::string expected_unit_;
  double minimum_ = 0;
};

// E is an enum (with the names of its values), bool, int, std::string or std::vector<std::string>.
template <class E>
struct Sourced {
  Sourced() = default;
  explicit Sourced(std::vector<std::string> names) : names_(std::move(names)) {}
  E value{};
  std::string source;
  FieldList fields() {
    if constexpr (std::is_enum_v<E>) {
      return {{"value", "the choice", enumerated(&value, names_), {.required = true}},
              source_field()};
    } else {
      return {{"value", "the choice", &value, {.required = true}}, source_field()};
    }
  }

 private:
  Field source_field() {
    return {"source", "citation or \"assumed: why\"", &source, {.required = true}};
  }
  std::vector<std::string> names_;
};

// "" when it cites something; else what is wrong with it ("is empty", "says estimate without why").
std::string source_problem(const std::string& source);

}  // namespace nb
