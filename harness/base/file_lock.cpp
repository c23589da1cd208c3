#include "harness/base/file_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "harness/base/fs.hpp"

namespace nb {
namespace {

constexpr auto kFirstNap = std::chrono::milliseconds(2);
constexpr auto kLongestNap = std::chrono::milliseconds(200);

Result<int> open_lock(const fs::path& file) {
  NB_TRY_VOID(make_folders(file.parent_path()));
  const int descriptor = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return run_error(
        fmt::format("{}: cannot open the lock: {}", file.string(), std::strerror(errno)));
  return descriptor;
}

// 1: taken, 0: another process has it, -1: errno.
int take(int descriptor) {
  for (;;) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return 1;
    if (errno == EWOULDBLOCK) return 0;
    if (errno != EINTR) return -1;
  }
}

bool is_still(int descriptor, const fs::path& file) {
  struct stat ours {
  }, now{};
  return ::fstat(descriptor, &ours) == 0 && ::stat(file.c_str(), &now) == 0 &&
         ours.st_ino == now.st_ino && ours.st_dev == now.st_dev;
}

}  // namespace

Result<FileLock> FileLock::try_acquire(const fs::path& file) {
  for (;;) {
    NB_TRY(const int descriptor, open_lock(file));
    FileLock lock(descriptor);
    const int taken = take(descriptor);
    if (taken == 0) return FileLock(-1);
    if (taken < 0)
      return run_error(fmt::format("{}: cannot lock: {}", file.string(), std::strerror(errno)));
    if (is_still(descriptor, file)) return lock;
  }
}

Result<FileLock> FileLock::acquire(const fs::path& file,
                                   const std::function<void(const std::string&)>& on_wait) {
  auto nap = kFirstNap;
  for (bool told = false;;) {
    NB_TRY(FileLock lock, try_acquire(file));
    if (lock.held()) return lock;
    if (on_wait && !std::exchange(told, true)) on_wait(lock_holder(file));
    std::this_thread::sleep_for(nap);
    nap = std::min(2 * nap, kLongestNap);
  }
}

void FileLock::sign(const std::string& more) const {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string text = fmt::format("process {} on {}{}\n", ::getpid(), host, more);
  if (::ftruncate(descriptor_, 0) == 0) (void)!::pwrite(descriptor_, text.data(), text.size(), 0);
}

FileLock::FileLock(FileLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string lock_holder(const fs::path& file) {
  std::string holder = read_file(file).value_or("");
  holder = holder.substr(0, holder.find('\n'));
  return holder.empty() ? "another process" : holder;
}

}  // namespace nb
