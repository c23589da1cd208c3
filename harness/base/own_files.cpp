#include "harness/base/own_files.hpp"

#include <cstdlib>
#include <system_error>

namespace nb {
namespace {

namespace fs = std::filesystem;

constexpr const char* kRunningFile = "/proc/self/exe";

// Empty: no portable folder.
fs::path launcher() {
  const char* program = std::getenv("NPUBENCH_PROGRAM");
  return program == nullptr ? fs::path() : fs::path(program);
}

}  // namespace

fs::path own_program() {
  if (fs::path program = launcher(); !program.empty()) return program;
  std::error_code error;
  fs::path program = fs::read_symlink(kRunningFile, error);
  return error ? fs::path() : program;
}

fs::path program_to_start() {
  fs::path program = launcher();
  return program.empty() ? fs::path(kRunningFile) : program;
}

fs::path shipped_folder() {
  const fs::path folder = own_program().parent_path();
  std::error_code ignored;
  if (folder.empty()) return {};
  for (const char* place : {"../share/npubench", "share/npubench", "../.."})
    if (fs::is_directory(folder / place / "suites", ignored))
      return (folder / place).lexically_normal();
  return {};
}

fs::path shipped(const fs::path& given) {
  std::error_code ignored;
  if (given.empty() || given.is_absolute() || fs::exists(given, ignored)) return given;
  const fs::path folder = shipped_folder();
  return !folder.empty() && fs::exists(folder / given, ignored) ? folder / given : given;
}

}  // namespace nb
