#include "tests/support/data_dir.hpp"

#include <cstdlib>

namespace nb::test {

std::filesystem::path data_dir() {
  namespace fs = std::filesystem;
  const auto is_data = [](const fs::path& path) { return fs::exists(path / "SHA256SUMS"); };
  if (const char* set = std::getenv("NPUBENCH_DATA"); set != nullptr && is_data(set)) return set;
  const fs::path beside = fs::path(NB_SOURCE_DIR).parent_path() / "shared" / "data";
  if (is_data(beside)) return beside;
  if (const char* home = std::getenv("HOME"); home != nullptr) {
    const fs::path cache = fs::path(home) / ".cache/npubench/data";
    if (is_data(cache)) return cache;
  }
  return {};
}

}  // namespace nb::test
