// One process at a time works behind a file. The lock is the kernel's (flock), so it ends with its
// process: a killed one leaves nothing to clean up. A file that was replaced by another while we
// waited is opened anew, so a file that is only ever replaced whole can be its own lock.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "harness/base/result.hpp"

namespace nb {

class FileLock {
 public:
  // Creates file and folders. Waits while another process holds it; told once through on_wait
  // ("process 123 on host").
  static Result<FileLock> acquire(const std::filesystem::path& file,
                                  const std::function<void(const std::string& holder)>& on_wait);
  // Like acquire, but an empty lock (held() false) at once instead of waiting.
  static Result<FileLock> try_acquire(const std::filesystem::path& file);

  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  ~FileLock();
  bool held() const { return descriptor_ >= 0; }
  // Writes who holds it in place of the file's content, for people and for on_wait of the others:
  // "process 123 on host", then `more`. Only for a file that is nothing but a lock.
  void sign(const std::string& more = "") const;

 private:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

// What the last holder signed; "another process" where nothing can be read.
std::string lock_holder(const std::filesystem::path& file);

}  // namespace nb
