// A folder for one program where no namespace gives it one; removed whatever the program made of
// it. While it is in use it is locked (flock), so that the folder of a process that was killed can
// be told from those of others.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>

#include "evals/sandbox/landlock.hpp"
#include "harness/base/result.hpp"

namespace nb::sandbox {

// The user and group that own nothing.
inline constexpr unsigned kNobody = 65534;

// A program may not make more files than this: they take memory of the kernel, which no limit of a
// process counts.
inline constexpr std::int64_t kMaxFiles = 1'000;

// Removes the folders that killed processes left in the system's folder for temporary files: those
// that nobody has locked, of this user (as root: and of nobody).
void remove_dead_scratch();

// Whether the program's own tmpfs of `size_bytes`, "/scratch" as that process sees it, holds more
// files than that; false where it cannot be seen.
bool has_too_many_files(pid_t process, std::uint64_t size_bytes);

class Scratch {
 public:
  // In the system's folder for temporary files. `for_nobody`: owned by user 65534 (root only).
  static Result<Scratch> create(bool for_nobody);
  ~Scratch();
  Scratch(Scratch&& other) noexcept;
  Scratch& operator=(Scratch&&) = delete;
  const std::filesystem::path& path() const { return path_; }
  int folder() const { return lock_.get(); }  // open
  // Whether its files are larger than that in sum, or too many or too deeply nested to count.
  // Files without a name that `process` holds open count; 0: there is no process.
  bool is_over(std::uint64_t size_bytes, pid_t process) const;
  // Removes it with all that is in it; links are not followed.
  Result<void> remove();

 private:
  Scratch(std::filesystem::path path, Descriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::filesystem::path path_;
  Descriptor lock_;
};

}  // namespace nb::sandbox
