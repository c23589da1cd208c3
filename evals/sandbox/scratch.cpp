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

#include "evals/sandbox/folders.hpp"

namespace nb::sandbox {

namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 16;
constexpr std::string_view kNameStart = "npubench-sandbox-";
constexpr int kTries = 100;

Descriptor open_parent() {
  std::error_code failed;
  const fs::path path = fs::temp_directory_path(failed);
  return Descriptor(failed ? -1 : ::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
}

// The folder, locked; closed when another process has the lock, and where it is not our user's (as
// root: or nobody's), has been removed, or is another file system.
Descriptor lock_folder(const Descriptor& parent, const std::string& name) {
  Descriptor folder = open_folder(parent.get(), name);
  struct stat about {
  }, about_parent{};
  if (folder.is_open() && ::flock(folder.get(), LOCK_EX | LOCK_NB) == 0 &&
      ::fstat(folder.get(), &about) == 0 && ::fstat(parent.get(), &about_parent) == 0 &&
      about.st_dev == about_parent.st_dev && about.st_nlink > 0 &&
      (about.st_uid == ::geteuid() || (::geteuid() == 0 && about.st_uid == kNobody)))
    return folder;
  return Descriptor();
}

}  // namespace

void remove_dead_scratch() {
  const Descriptor parent = open_parent();
  if (!parent.is_open()) return;
  for (const std::string& name : names_in(parent.get())) {
    if (!name.starts_with(kNameStart)) continue;
    const Descriptor folder = lock_folder(parent, name);
    if (!folder.is_open()) continue;
    empty_folder(folder.get());
    ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
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
  const fs::path path = fs::temp_directory_path(failed);
  if (failed)
    return run_error(
        fmt::format("sandbox: cannot create a folder for files: {}", failed.message()));
  const Descriptor parent = open_parent();
  const std::string pattern = path / (std::string(kNameStart) + "XXXXXX");
  // Between making and locking it, another process may take it for a dead one's and remove it.
  for (int tries = 0; tries < kTries; ++tries) {
    std::string name = pattern;
    if (::mkdtemp(name.data()) == nullptr)
      return run_error(fmt::format("sandbox: cannot make {}: {}", name, std::strerror(errno)));
    Descriptor lock = lock_folder(parent, fs::path(name).filename());
    if (!lock.is_open()) continue;
    Scratch scratch(name, std::move(lock));
    if (for_nobody && ::fchown(scratch.folder(), kNobody, kNobody) != 0)
      return run_error(fmt::format("sandbox: cannot give {} away: {}", name, std::strerror(errno)));
    return scratch;
  }
  return run_error(fmt::format(
      "sandbox: cannot lock a folder in {}; try another folder for temporary files (TMPDIR)",
      path.string()));
}

Scratch::Scratch(Scratch&& other) noexcept
    : path_(std::exchange(other.path_, fs::path())), lock_(std::move(other.lock_)) {}

Scratch::~Scratch() {
  const auto removed = remove();  // whoever wants to know called it before
}

bool Scratch::is_over(std::uint64_t size_bytes, pid_t process) const {
  const FolderUse use = folder_use(folder(), kMaxFiles, kDeepest);
  if (use.is_too_deep || use.entries > kMaxFiles) return true;
  return use.bytes + (process == 0 ? 0 : nameless_bytes(process, folder())) > size_bytes;
}

Result<void> Scratch::remove() {
  if (path_.empty()) return {};
  const fs::path path = std::exchange(path_, fs::path());
  empty_folder(folder());
  if (::rmdir(path.c_str()) == 0) return {};
  return run_error(
      fmt::format("sandbox: cannot remove {}: {}", path.string(), std::strerror(errno)));
}

}  // namespace nb::sandbox
