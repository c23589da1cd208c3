// Files packed by gzip (RFC 1952).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

// The same bytes for the same bytes with one zlib: neither name nor time is in it.
std::string gzip(std::string_view bytes);
// The file's text, unpacked when it begins as gzip does. Broken or cut archives are errors.
Result<std::string> read_text_or_gzip(const std::filesystem::path& path);

}  // namespace nb
