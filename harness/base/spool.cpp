#include "harness/base/spool.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <string>
#include <system_error>

#include "harness/base/check.hpp"

namespace nb {
namespace {

// A file that no name leads to: it goes with the process, however that ends.
int open_nameless() {
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  if (error) return -1;
  const int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (descriptor >= 0) return descriptor;
  std::string name = folder + "/npubench-XXXXXX";  // file systems without O_TMPFILE
  const int named = ::mkostemp(name.data(), O_CLOEXEC);
  if (named >= 0) ::unlink(name.c_str());
  return named;
}

class SpoolFile {
 public:
  // Where it was written; -1: it could not be.
  std::int64_t write(std::span<const std::byte> bytes) {
    const std::int64_t place = take_place();
    if (place < 0) return -1;
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count =
          ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, offset(place, done));
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        give_back(place);
        return -1;
      }
      done += static_cast<std::size_t>(count);
    }
    return place;
  }
  void read(std::int64_t place, std::span<std::byte> bytes) const {
    std::size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t count =
          ::pread(descriptor_, bytes.data() + done, bytes.size() - done, offset(place, done));
      if (count < 0 && errno == EINTR) continue;
      NB_CHECK(count > 0, "[spool] the temporary file cannot be read back: {}",
               std::generic_category().message(count < 0 ? errno : EIO));
      done += static_cast<std::size_t>(count);
    }
  }
  void give_back(std::int64_t place) {
    const std::lock_guard lock(mutex_);
    free_.push_back(place);
  }

 private:
  static off_t offset(std::int64_t place, std::size_t done) {
    return static_cast<off_t>(place) * static_cast<off_t>(kSpoolBlock) + static_cast<off_t>(done);
  }
  std::int64_t take_place() {
    const std::lock_guard lock(mutex_);
    if (!is_open_) {
      descriptor_ = open_nameless();
      is_open_ = true;
    }
    if (descriptor_ < 0) return -1;
    if (free_.empty()) return count_++;
    const std::int64_t place = free_.back();
    free_.pop_back();
    return place;
  }

  std::mutex mutex_;
  bool is_open_ = false;  // tried; descriptor_ may be -1
  int descriptor_ = -1;
  std::int64_t count_ = 0;  // blocks that the file has
  std::vector<std::int64_t> free_;
};

// Never destroyed: blocks of static storage may outlive any other order.
SpoolFile& spool_file() {
  static SpoolFile* const file = new SpoolFile;
  return *file;
}

}  // namespace

SpooledBlock::SpooledBlock(std::span<const std::byte> bytes) {
  NB_CHECK(bytes.size() <= kSpoolBlock, "[spool] {} bytes in a block of {}", bytes.size(),
           kSpoolBlock);
  place_ = spool_file().write(bytes);
  if (place_ < 0) in_memory_.assign(bytes.begin(), bytes.end());
}

SpooledBlock::~SpooledBlock() {
  if (place_ >= 0) spool_file().give_back(place_);
}

void SpooledBlock::read(std::span<std::byte> bytes) const {
  if (place_ >= 0)
    spool_file().read(place_, bytes);
  else
    std::copy(in_memory_.begin(), in_memory_.end(), bytes.begin());
}

}  // namespace nb
