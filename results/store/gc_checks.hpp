// What gc.cpp asks of a run when it plans and gc_remove.cpp asks again when it removes.
#pragma once

#include <filesystem>

namespace nb {

// Does a process hold the lock of one of its nodes (<run>/.locks, harness/run)?
bool is_worked_on(const std::filesystem::path& run);

}  // namespace nb
