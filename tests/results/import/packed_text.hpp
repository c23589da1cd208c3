// Texts in the codings that text_stream.hpp reads.
#pragma once

#include <string>

namespace nb::test {

// The text as gzip packs it, and in UTF-16 (little endian, with its mark) as PowerShell writes it.
std::string gzip_of(const std::string& text);
std::string utf16_of(const std::string& utf8);

}  // namespace nb::test
