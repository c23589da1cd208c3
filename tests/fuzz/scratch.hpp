// Files for parsers that take a path: in memory where the system has such a folder, one folder a
// process, removed when it ends. Written over again and again, and not synced as write_file does.
#pragma once

#include <filesystem>
#include <string_view>

namespace nb::test {

// Empty at first.
const std::filesystem::path& scratch_folder();
// <folder>/<name> with these bytes; folders in the name are made.
std::filesystem::path scratch_file(const std::filesystem::path& name, std::string_view bytes);

}  // namespace nb::test
