// The list of system calls that a sandboxed program may not make, as a BPF program (libseccomp).
#pragma once

#include <string>

#include "harness/base/result.hpp"

namespace nb::sandbox {

// Classic BPF, struct sock_filter after struct sock_filter, for seccomp(2) or bwrap --seccomp.
// Everything that is not on the list is allowed, but for what prctl and ioctl can do: namespaces or
// Landlock guard what the list forgets. Refused calls fail with EPERM (clone3 and those that are
// newer than the list with ENOSYS, so that C libraries fall back to older ones), calls of another
// architecture kill. Allowed although processes are not: threads.
Result<std::string> system_call_filter();

}  // namespace nb::sandbox
