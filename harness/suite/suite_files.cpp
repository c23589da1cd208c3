#include "harness/suite/suite_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/fields.hpp"
#include "harness/base/own_files.hpp"

namespace nb {

namespace fs = std::filesystem;

std::vector<fs::path> suite_files() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(shipped("suites"), error))
    if (entry.path().extension() == ".json") files.push_back("suites" / entry.path().filename());
  std::sort(files.begin(), files.end());
  return files;
}

std::string meant_suite(const fs::path& path) {
  std::vector<std::string> names;
  for (const fs::path& file : suite_files()) names.push_back(file.stem().string());
  const std::string nearest = nearest_name(path.stem().string(), names);
  return nearest.empty() ? " (npubench list suites)"
                         : fmt::format("; did you mean suites/{}.json?", nearest);
}

}  // namespace nb
