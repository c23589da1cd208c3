// The man page npubench(1), made from the options that the verbs declare. Pure.
#pragma once

#include <span>
#include <string>

#include "harness/cli/command_info.hpp"

namespace nb::cli {

// roff with the macros of man(7). verbs: as verbs() has them, their docs opened by an example as
// --help has it.
std::string man_page(std::span<const CommandInfo> verbs);

}  // namespace nb::cli
