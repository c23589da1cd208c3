// Text files that may be packed by gzip.
#pragma once

#include <filesystem>
#include <string>

#include "harness/base/result.hpp"

namespace nb {

// The file's text, unpacked when it begins as gzip does. Broken or cut archives are errors.
Result<std::string> read_text_or_gzip(const std::filesystem::path& path);

}  // namespace nb
