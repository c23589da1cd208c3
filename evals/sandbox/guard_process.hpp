// The guard itself; guard.hpp says what it is for.
#pragma once

namespace nb::sandbox {

// Descriptors that a guard is started with.
inline constexpr int kGuardSocket = 3;  // to npubench
inline constexpr int kGuardOwner = 4;   // a pidfd of npubench; closed where the kernel has none

// Serves until npubench has ended and then ends everything below.
[[noreturn]] void be_guard();

}  // namespace nb::sandbox
