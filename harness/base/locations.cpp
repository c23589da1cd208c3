#include "harness/base/locations.hpp"

#include <cstdlib>

namespace nb {
namespace {

namespace fs = std::filesystem;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace

fs::path data_folder(const std::string& given) {
  if (!given.empty()) return given;
  if (const std::string set = environment("NPUBENCH_DATA"); !set.empty()) return set;
  const std::string home = environment("HOME");
  return fs::path(home.empty() ? "." : home) / ".cache/npubench/data";
}

fs::path results_folder(const std::string& given) {
  if (!given.empty()) return given;
  if (const std::string set = environment("NPUBENCH_RESULTS"); !set.empty()) return set;
  return "results/runs";
}

}  // namespace nb
