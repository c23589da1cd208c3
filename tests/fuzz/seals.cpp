#include "tests/fuzz/seals.hpp"

#include <cstdint>
#include <cstring>
#include <string_view>

#include "harness/base/hash.hpp"

namespace nb::test {

std::string with_file_digest(std::string file) {
  constexpr std::size_t kLength = 8, kDigest = 64;
  constexpr std::string_view kKey = "\"file_sha256\":\"";
  std::uint64_t length = 0;
  if (file.size() < kLength) return file;
  std::memcpy(&length, file.data(), kLength);
  if (length > file.size() - kLength) return file;
  const std::size_t at = file.find(kKey, kLength) + kKey.size();
  if (at < kKey.size() || at + kDigest > kLength + static_cast<std::size_t>(length)) return file;
  file.replace(at, kDigest, kDigest, '0');
  return file.replace(at, kDigest, sha256_hex(file));
}

}  // namespace nb::test
