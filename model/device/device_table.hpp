// The machines and software stacks of the project as tables, for the command line and for the
// README, whose table a test compares with the files.
#pragma once

#include "harness/base/result.hpp"
#include "harness/base/table.hpp"

namespace nb {

Result<TextTable> device_table();  // one row a built-in machine, under its own stack
Result<TextTable> stack_table();   // one row a built-in stack

}  // namespace nb
