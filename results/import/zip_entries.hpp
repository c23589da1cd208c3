// Reads the files in a ZIP, one at a time: stored, deflated, or compressed by zstd (which libzip
// 1.7 of Debian 12 does not know). Not for archives that hold other archives. Not thread-safe.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/result.hpp"

namespace nb {

// What an archive may unpack to. A log's samples compress to a tenth, rarely to a hundredth; files
// that were made to fill a disk claim a thousandth and less.
struct ZipLimits {
  std::uint64_t entry_bytes = std::uint64_t{1} << 30;   // one file, unpacked: it stands in memory
  std::uint64_t total_bytes = std::uint64_t{64} << 30;  // all of them, one after the other
  std::uint64_t ratio = 300;                            // unpacked / packed,
  std::uint64_t ratio_from_bytes = std::uint64_t{16} << 20;  // of files larger than this
  std::uint64_t entries = 4'000'000;
};

struct ZipEntry {
  std::string_view name;  // lives as long as its reader
  std::uint64_t index = 0;
  std::uint64_t bytes = 0;  // unpacked, as the directory states it
  std::uint64_t packed_bytes = 0;
  int method = 0;  // 0 stored, 8 deflate, 93 zstd
};

class ZipReader {
 public:
  // Errors name the file: no ZIP, cut off, damaged directory, more than the limits.
  static Result<ZipReader> open(const std::filesystem::path& path, const ZipLimits& limits = {});
  ZipReader(ZipReader&&) noexcept;
  ZipReader& operator=(ZipReader&&) noexcept;
  ~ZipReader();

  // In the order of the directory. Of equal names the last counts, the others are not here: writers
  // replace a file by appending it again.
  const std::vector<ZipEntry>& entries() const;
  const ZipEntry* find(std::string_view name) const;  // nullptr: not there
  // Errors: "FILE: NAME: …": damaged, encrypted, unknown compression, other size than stated.
  Result<std::string> read(const ZipEntry& entry) const;

 private:
  struct State;
  explicit ZipReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace nb
