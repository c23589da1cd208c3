// Lines that say that a process died or that a program calls an error, and that carry no code: of
// C++, glibc, Python, shells, the kernel, loggers. They are named, never explained.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace nb::doctor {

struct CrashLine {
  std::string code;  // "std::out_of_range", "signal 11", "kernel: soft lockup", "[ERROR] of HCCL"
  std::string_view what, what_zh;
  bool is_loggers = false;  // a program calls it an error; it need not have ended anything
};
// Nothing: an ordinary line. Not for two threads at once.
std::optional<CrashLine> crash_in(std::string_view line);
// One of these stands in every line that crash_in knows.
std::span<const std::string_view> crash_hints();

// Exceptions that only say that another process failed: "ChildFailedError".
bool passes_on(std::string_view exception);

}  // namespace nb::doctor
