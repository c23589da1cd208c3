#include "harness/run/node_lock.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "harness/base/fs.hpp"

namespace nb {
namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(200);

fs::path lock_path(const fs::path& node_folder) {
  return node_folder.parent_path() / ".locks" / node_folder.filename();
}

Result<int> open_lock(const fs::path& path) {
  NB_TRY_VOID(make_folders(path.parent_path()));
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return run_error(
        fmt::format("{}: cannot open the lock: {}", path.string(), std::strerror(errno)));
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

// Who holds it, for people only: the lock itself is the kernel's.
void sign(int descriptor) {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  const std::string text = fmt::format("process {} on {}\n", ::getpid(), host);
  if (::ftruncate(descriptor, 0) == 0) (void)!::pwrite(descriptor, text.data(), text.size(), 0);
}

std::string read_holder(int descriptor) {
  char text[300];
  const ssize_t got = ::pread(descriptor, text, sizeof text, 0);
  std::string holder(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  if (holder.ends_with('\n')) holder.pop_back();
  return holder.empty() ? "another process" : holder;
}

}  // namespace

Result<NodeLock> NodeLock::try_acquire(const fs::path& node_folder) {
  const fs::path path = lock_path(node_folder);
  NB_TRY(const int descriptor, open_lock(path));
  const int taken = take(descriptor);
  if (taken == 1) {
    sign(descriptor);
    return NodeLock(descriptor);
  }
  const int error = errno;
  ::close(descriptor);
  if (taken == 0) return NodeLock(-1);
  return run_error(fmt::format("{}: cannot lock: {}", path.string(), std::strerror(error)));
}

Result<NodeLock> NodeLock::acquire(const fs::path& node_folder,
                                   const std::function<void(const std::string&)>& on_wait) {
  for (bool told = false;;) {
    NB_TRY(NodeLock lock, try_acquire(node_folder));
    if (lock.held()) return lock;
    if (on_wait && !std::exchange(told, true)) {
      NB_TRY(const int descriptor, open_lock(lock_path(node_folder)));
      on_wait(read_holder(descriptor));
      ::close(descriptor);
    }
    std::this_thread::sleep_for(kPollInterval);
  }
}

NodeLock::NodeLock(NodeLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

NodeLock& NodeLock::operator=(NodeLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

NodeLock::~NodeLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace nb
