// Completion of verbs, commands, options and their values for bash, zsh and fish, made from the
// options that the verbs declare. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"
#include "harness/cli/command_info.hpp"

namespace nb::cli {

// shell: "bash", "zsh" or "fish"; another is bad_input. verbs: as verbs() has them. The script asks
// `npubench list` for devices, stacks and tasks when it completes one.
Result<std::string> completion_script(std::string_view shell, std::span<const CommandInfo> verbs);

}  // namespace nb::cli
