#include "evals/sandbox/scratch.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace nb::sandbox {

namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 16;
constexpr std::string_view kNameStart = "npubench-sandbox-";
constexpr unsigned kNobody = 65534;

// One level at a time, since a program may nest folders deeper than any path or stack allows: what
// lies in a sub-folder is moved up into `root` before the sub-folder goes.
void remove_flat(const fs::path& root) {
  std::uint64_t moved = 0;
  for (bool is_left = true; is_left;) {
    is_left = false;
    std::vector<fs::path> folders;
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(root, ignored)) {
      if (entry.is_directory(ignored) && !entry.is_symlink(ignored))
        folders.push_back(entry.path());
      else
        ::unlink(entry.path().c_str());
    }
    for (const fs::path& folder : folders) {
      ::chmod(folder.c_str(), 0700);
      std::vector<fs::path> inner;
      for (const auto& entry : fs::directory_iterator(folder, ignored))
        inner.push_back(entry.path());
      for (const fs::path& entry : inner) {
        if (::unlink(entry.c_str()) == 0) continue;
        // Moving a folder changes its "..", for which one must be allowed to write in it.
        if (errno == EISDIR) ::chmod(entry.c_str(), 0700);
        ::rename(entry.c_str(), (root / fmt::format("moved-{}", moved++)).c_str());
      }
      const bool is_gone = ::rmdir(folder.c_str()) == 0;
      is_left = is_left || is_gone;
    }
  }
}

// The folder, locked; closed when another process has the lock.
Descriptor lock_folder(const fs::path& path) {
  Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.is_open() && ::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) folder.close();
  return folder;
}

bool is_ours(const Descriptor& folder) {
  struct stat about {};
  if (!folder.is_open() || ::fstat(folder.get(), &about) != 0) return false;
  return about.st_uid == ::geteuid() || (::geteuid() == 0 && about.st_uid == kNobody);
}

}  // namespace

void remove_dead_scratch() {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (failed) return;
  for (const auto& entry : fs::directory_iterator(parent, failed)) {
    if (!entry.path().filename().string().starts_with(kNameStart)) continue;
    const Descriptor folder = lock_folder(entry.path());
    if (!is_ours(folder)) continue;
    remove_flat(entry.path());
    ::rmdir(entry.path().c_str());
  }
}

bool has_too_many_files(pid_t process, std::uint64_t size_bytes) {
  struct statfs about {};
  const std::string path = fmt::format("/proc/{}/root/scratch", process);
  if (::statfs(path.c_str(), &about) != 0 || about.f_type != TMPFS_MAGIC) return false;
  // Before bwrap has changed the root, a folder of this name would be the host's.
  const auto block = static_cast<std::uint64_t>(about.f_bsize);
  if (about.f_blocks * block > size_bytes + block) return false;
  return static_cast<std::int64_t>(about.f_files - about.f_ffree) > kMaxFiles;
}

Result<Scratch> Scratch::create(bool for_nobody) {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (failed)
    return run_error(
        fmt::format("sandbox: cannot create a folder for files: {}", failed.message()));
  const std::string pattern = parent / (std::string(kNameStart) + "XXXXXX");
  // Between making and locking it, another process may take it for a dead one's and remove it.
  for (;;) {
    std::string name = pattern;
    if (::mkdtemp(name.data()) == nullptr)
      return run_error(fmt::format("sandbox: cannot make {}: {}", name, std::strerror(errno)));
    Descriptor lock = lock_folder(name);
    struct stat about {};
    if (!lock.is_open() || ::fstat(lock.get(), &about) != 0 || about.st_nlink == 0) continue;
    Scratch scratch(name, std::move(lock));
    if (for_nobody && ::chown(name.c_str(), kNobody, kNobody) != 0)
      return run_error(fmt::format("sandbox: cannot give {} away: {}", name, std::strerror(errno)));
    return scratch;
  }
}

Scratch::Scratch(Scratch&& other) noexcept
    : path_(std::exchange(other.path_, fs::path())), lock_(std::move(other.lock_)) {}

Scratch::~Scratch() {
  const auto removed = remove();  // whoever wants to know called it before
}

bool Scratch::is_over(std::uint64_t size_bytes) const {
  std::uint64_t sum = 0;
  std::int64_t entries = 0;
  std::error_code failed;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(path_, options, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry.depth() >= kDeepest || ++entries > kMaxFiles) return true;
    std::error_code gone;
    if (!entry->is_regular_file(gone) || entry->is_symlink(gone)) continue;
    const std::uint64_t size = entry->file_size(gone);
    if (!gone) sum += size;
  }
  return sum > size_bytes;
}

Result<void> Scratch::remove() {
  if (path_.empty()) return {};
  const fs::path path = std::exchange(path_, fs::path());
  remove_flat(path);
  if (::rmdir(path.c_str()) == 0) return {};
  return run_error(
      fmt::format("sandbox: cannot remove {}: {}", path.string(), std::strerror(errno)));
}

}  // namespace nb::sandbox
