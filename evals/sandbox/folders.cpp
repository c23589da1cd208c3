#include "evals/sandbox/folders.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/core.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string_view>

namespace nb::sandbox {

namespace {

constexpr mode_t kToLook = S_IRUSR | S_IXUSR, kToChange = S_IRWXU;
constexpr int kAsFolder = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

// The folder of that name itself: not what a link points to, nor what is mounted there.
Descriptor open_here(int parent, const std::string& name, int flags) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | kAsFolder);
  how.resolve = RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH;
  const long number = ::syscall(SYS_openat2, parent, name.c_str(), &how, sizeof(how));
  // EPERM: what some containers say of calls that they do not know. Kernels before 5.6: ENOSYS.
  if (number >= 0 || (errno != ENOSYS && errno != EPERM))
    return Descriptor(static_cast<int>(number));
  return Descriptor(::openat(parent, name.c_str(), flags | kAsFolder));
}

std::uint64_t size_of(const struct stat& about) {
  return S_ISREG(about.st_mode) ? static_cast<std::uint64_t>(about.st_size) : 0;
}

void add_use(int folder, std::int64_t most_entries, int levels_left, FolderUse& use) {
  for (const std::string& name : names_in(folder, static_cast<std::size_t>(most_entries) + 1)) {
    if (++use.entries > most_entries) return;
    if (levels_left == 0) {
      use.is_too_deep = true;
      return;
    }
    struct stat about {};
    if (::fstatat(folder, name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) continue;
    use.bytes += size_of(about);
    if (!S_ISDIR(about.st_mode)) continue;
    const Descriptor inner = open_sub_folder(folder, name, kToLook);
    if (inner.is_open()) add_use(inner.get(), most_entries, levels_left - 1, use);
    if (use.is_too_deep || use.entries > most_entries) return;
  }
}

// Everything in `folder` is removed or, where that is a folder with something in it, moved into
// `root` under a name of its own.
void move_up(int folder, int root, std::uint64_t& moved) {
  for (const std::string& name : names_in(folder)) {
    if (::unlinkat(folder, name.c_str(), 0) == 0 ||
        ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0)
      continue;
    // Moving a folder changes its "..", for which one must be allowed to write in it.
    if (!open_sub_folder(folder, name, kToChange).is_open()) continue;
    ::renameat(folder, name.c_str(), root, fmt::format("moved-{}", moved++).c_str());
  }
}

}  // namespace

Descriptor open_folder(int parent, const std::string& name) {
  return open_here(parent, name, O_RDONLY);
}

Descriptor open_sub_folder(int parent, const std::string& name, mode_t rights) {
  // O_PATH needs no rights of the folder. What it was opened for cannot be replaced any more, and
  // the link below /proc leads to that and nothing else.
  const Descriptor place = open_here(parent, name, O_PATH);
  struct stat about {
  }, about_parent{};
  if (!place.is_open() || ::fstat(place.get(), &about) != 0 ||
      ::fstat(parent, &about_parent) != 0 || about.st_uid != about_parent.st_uid ||
      about.st_dev != about_parent.st_dev)
    return Descriptor();
  if ((about.st_mode & rights) != rights)
    ::chmod(fmt::format("/proc/self/fd/{}", place.get()).c_str(), S_IRWXU);
  return Descriptor(::openat(place.get(), ".", O_RDONLY | kAsFolder));
}

std::vector<std::string> names_in(int folder, std::size_t most) {
  std::vector<std::string> names;
  const int again = ::openat(folder, ".", O_RDONLY | kAsFolder);
  if (again < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(again), ::closedir);
  if (stream == nullptr) {
    ::close(again);
    return names;
  }
  while (const dirent* const entry = names.size() < most ? ::readdir(stream.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  return names;
}

// One level at a time, since a program may nest folders deeper than any path or stack allows: what
// lies in a sub-folder is moved up before the sub-folder goes.
void empty_folder(int folder) {
  std::uint64_t moved = 0;
  for (bool goes_on = true; goes_on;) {
    goes_on = false;
    for (const std::string& name : names_in(folder)) {
      if (::unlinkat(folder, name.c_str(), 0) == 0) continue;
      const Descriptor inner = open_sub_folder(folder, name, kToChange);
      if (inner.is_open()) move_up(inner.get(), folder, moved);
      goes_on = ::unlinkat(folder, name.c_str(), AT_REMOVEDIR) == 0 || goes_on;
    }
  }
}

FolderUse folder_use(int folder, std::int64_t most_entries, int most_levels) {
  FolderUse use;
  add_use(folder, most_entries, most_levels, use);
  return use;
}

std::uint64_t nameless_bytes(pid_t process, int folder) {
  struct stat place {};
  const Descriptor list(
      ::open(fmt::format("/proc/{}/fd", process).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!list.is_open() || ::fstat(folder, &place) != 0) return 0;
  std::uint64_t sum = 0;
  std::set<ino_t> seen;
  for (const std::string& name : names_in(list.get())) {
    struct stat about {};
    if (::fstatat(list.get(), name.c_str(), &about, 0) != 0) continue;
    if (about.st_nlink == 0 && about.st_dev == place.st_dev && seen.insert(about.st_ino).second)
      sum += size_of(about);
  }
  return sum;
}

}  // namespace nb::sandbox
