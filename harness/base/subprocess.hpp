// Runs a child process without a shell: stdin closed, stdout and stderr captured up to a limit or
// written to a file, killed with its process group after a time limit.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

struct SubprocessOptions {
  std::chrono::milliseconds time_limit = std::chrono::hours(1);
  std::size_t output_limit_bytes = std::size_t{64}
                                   << 20;  // of each stream; more is an error, not cut silently
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  // Bytes that a file which it writes may get; the write beyond fails. 0: any number.
  std::uint64_t file_limit_bytes = 0;
  // Both streams go into this file as the child prints them, without a limit, instead of into the
  // result.
  std::filesystem::path output_file = {};
};
struct SubprocessResult {
  int exit_code = 0;  // 128 + signal when killed
  bool timed_out = false;
  std::string out;
  std::string err;
};
// argv[0] is searched in PATH. An error only when the program cannot be started or printed too
// much.
Result<SubprocessResult> run_subprocess(const std::vector<std::string>& argv,
                                        const SubprocessOptions& options = {});

// The text as one word of a POSIX shell: for commands that are printed. Plain names stay as they
// are.
std::string shell_text(const std::string& text);

}  // namespace nb
