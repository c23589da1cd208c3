// The words of environment.csv's conditions that take more than a comparison: one function each.
#pragma once

#include <span>
#include <string_view>

#include "harness/doctor/condition.hpp"

namespace nb::doctor {

struct LintWord {
  std::string_view name;
  Known (*holds)(const Scene& scene);
  bool of_line = false;  // asks about a line of a script
};
std::span<const LintWord> lint_words();

}  // namespace nb::doctor
