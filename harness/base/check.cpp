#include "harness/base/check.hpp"

#include <string_view>

namespace nb {

namespace {

// __FILE__ may be absolute; messages name the file from the root of the project.
std::string_view from_root(std::string_view file) {
  constexpr std::string_view kOwn = "harness/base/check.cpp";
  const std::string_view own = __FILE__;
  const std::string_view root = own.substr(0, own.size() - kOwn.size());
  return file.starts_with(root) ? file.substr(root.size()) : file;
}

}  // namespace

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  throw CheckFailure(
      fmt::format("{} (check failed: {}, {}:{})", message, condition, from_root(file), line));
}

}  // namespace nb
