#include "tests/fuzz/seals.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "harness/base/hash.hpp"

namespace nb::test {

std::string with_data_digest(std::string file) {
  constexpr std::size_t kLength = 8, kDigest = 64;
  constexpr std::string_view kKey = "\"data_sha256\":\"";
  std::uint64_t length = 0;
  if (file.size() < kLength) return file;
  std::memcpy(&length, file.data(), kLength);
  if (length > file.size() - kLength) return file;
  const std::size_t data = kLength + static_cast<std::size_t>(length);
  const std::size_t at = file.find(kKey);
  if (at == file.npos || at + kKey.size() + kDigest > data) return file;
  return file.replace(at + kKey.size(), kDigest, sha256_hex(std::string_view(file).substr(data)));
}

}  // namespace nb::test
