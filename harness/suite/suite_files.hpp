// Suite files that a user may name.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nb {

// Those in the folder suites of the current folder, else of the program
// (harness/base/own_files.hpp), by name: "suites/smoke.json".
std::vector<std::filesystem::path> suite_files();

// For a file that is not there: "; did you mean suites/smoke.json?", also where it was called
// "smoke", else " (npubench list suites)".
std::string meant_suite(const std::filesystem::path& path);

}  // namespace nb
