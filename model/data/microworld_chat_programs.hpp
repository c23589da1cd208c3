// The small programs of mw/humaneval.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/data/microworld_chat.hpp"

namespace nb::microworld {

struct Program {
  std::string name;                     // "add_3"
  std::string parameters;               // "x"
  std::string docstring;                // "Add 3 to x."
  std::string expression;               // "x + 3"
  std::vector<std::string> assertions;  // "candidate(2) == 5"
};
// Programs without a number or letter of their own are never held.
struct ProgramFamily {
  std::vector<Program> programs;
  std::vector<bool> held;
};
std::vector<ProgramFamily> program_families(std::uint64_t seed);

// "def add_3(x):\n    \"\"\"Add 3 to x.\"\"\"\n"
std::string header(const Program& program);
std::string body(const Program& program);

}  // namespace nb::microworld
