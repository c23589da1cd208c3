// NB_CHECK(condition, "[op] format {}", args...): our own invariants, always on. Throws
// CheckFailure with file and line; caught only around a node (harness/run) and in main.
#pragma once

#include <fmt/core.h>

#include <stdexcept>
#include <string>

namespace nb {

class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_check(const char* condition, const char* file, int line,
                             const std::string& message);

}  // namespace nb

#define NB_CHECK(condition, ...)                                                    \
  do {                                                                              \
    if (!(condition)) [[unlikely]]                                                  \
      ::nb::fail_check(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
