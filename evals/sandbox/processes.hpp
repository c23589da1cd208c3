// What /proc says of processes.
#pragma once

#include <sys/types.h>

#include <vector>

namespace nb::sandbox {

std::vector<pid_t> all_processes();
// 0: it has ended, or has none that can be seen.
pid_t parent_of(pid_t process);
// Those that are waited for here, those that have ended too. For a process of one thread.
std::vector<pid_t> children_of_this_process();
// Ends it, whatever it does, unless somebody else has its number meanwhile: `is_still` is asked
// when that can no longer happen. Whether it was killed.
bool kill_surely(pid_t process, bool (*is_still)(pid_t));

}  // namespace nb::sandbox
