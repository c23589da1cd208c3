// Files written whole or not at all (temporary beside it, fsync, rename, fsync of the folder),
// reads with named errors, and a shim that makes the n-th write fail as a full disk does, for
// tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

namespace fs = std::filesystem;

Result<std::string> read_file(const fs::path& path);
// Creates parent folders. On failure the old file (if any) stands unchanged and no temporary is
// left.
Result<void> write_file(const fs::path& path, std::string_view bytes);
// Whole lines stay whole: a failed append is cut off again. Not synced to the disk.
Result<void> append_file(const fs::path& path, std::string_view bytes);
// The same of `line` and a line end. What a killed process left half keeps a line of its own.
Result<void> append_line(const fs::path& path, const std::string& line);
Result<void> make_folders(const fs::path& path);
Result<std::uint64_t> free_disk_bytes(const fs::path& path);  // of the nearest existing parent

// Streams a large file; nothing appears under `path` before commit(). Dropped without commit:
// removed.
class FileWriter {
 public:
  static Result<FileWriter> create(const fs::path& path);
  FileWriter(FileWriter&&) noexcept;
  FileWriter& operator=(FileWriter&&) noexcept;
  ~FileWriter();
  Result<void> write(std::span<const std::byte> bytes);
  Result<void> write(std::string_view bytes);
  Result<void> commit();

 private:
  FileWriter() = default;
  void drop() noexcept;
  fs::path path_;
  fs::path temporary_;
  bool is_nameless_ = false;  // until commit()
  int descriptor_ = -1;
};

// Read-only memory map of a file (shards). Empty files map to an empty span.
class MappedFile {
 public:
  static Result<MappedFile> open(const fs::path& path);
  MappedFile(MappedFile&&) noexcept;
  MappedFile& operator=(MappedFile&&) noexcept;
  ~MappedFile();
  std::span<const std::byte> bytes() const { return bytes_; }
  // The process holds these pages no more; they can be read again. Whole pages: `begin` and `end`
  // are rounded inwards.
  void release(std::size_t begin, std::size_t end) const;

 private:
  MappedFile() = default;
  std::span<const std::byte> bytes_;
};

// Tests only: writes number `countdown` (1 = the next) and later fail with `errno_value` until
// reset (countdown 0). NPUBENCH_FAIL_WRITE=n does the same in a child process.
void fail_writes_after(int countdown, int errno_value);

}  // namespace nb
