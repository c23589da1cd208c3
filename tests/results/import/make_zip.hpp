// ZIP files with any directory, sound or not, for tests: libzip writes no zstd and no lies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace nb::test {

struct ZipFile {
  std::string name, text;
  int method = 8;                                  // 0 stored, 8 deflate, 93 zstd
  std::optional<std::uint32_t> stated_bytes = {};  // instead of the text's size
};

std::string zip_of(const std::vector<ZipFile>& files);

}  // namespace nb::test
