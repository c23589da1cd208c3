// Three files make a profile: the machine (profiles/: what the hardware is; "base" names another
// machine from which it differs), the stack (stacks/: what the software launches, keeps and rounds)
// and the family (families/: constants that the calibration fitted, each with a range). A machine
// names its usual stack, a stack its family. Here they become the one JSON that parse_profile()
// reads; a file that has everything itself (its own /software) is left as it is. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/base/json_io.hpp"
#include "harness/base/result.hpp"

namespace nb {

// `file`: of a machine, or whole. `stack`: in place of its own; a name of stack_names() or the path
// of a file that ends in .json. What a machine has under /instead goes before the stack's.
// bad_input in one sentence: an unknown base, stack or family (with the nearest name), a stack for
// another kind of machine, a constant outside its range or without a place in the profile.
Result<Json> compose_profile(const Json& file, const std::string& where,
                             const std::optional<std::string>& stack = {});

std::vector<std::string> stack_names();   // built in, sorted
std::vector<std::string> family_names();  // built in, sorted

// A fitted constant of a family.
struct FamilyConstant {
  std::string name;
  std::string pointer;  // of the profile's entry that it fills
  std::string also;     // of a second entry that it fills; empty: none
  double value = 0, min = 0, max = 0;
  std::string unit, meaning, source;
};
struct Family {
  std::string name, title;
  std::vector<FamilyConstant> constants;  // sorted by name
  std::string note;                       // what was fitted on what, with the error there
  std::vector<std::string> fitted;        // pointers of the constants that are fitted
};
// By name, or the path of a file that ends in .json; bad_input as compose_profile.
Result<Family> load_family(const std::string& family);
Result<std::vector<FamilyConstant>> family_constants(const std::string& family);

}  // namespace nb
