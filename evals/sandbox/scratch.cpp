#include "evals/sandbox/scratch.hpp"

#include <fmt/core.h>
#include <stdlib.h>
#include <sys/stat.h>
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
constexpr int kMostEntries = 10'000;

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
      is_left = is_left || ::rmdir(folder.c_str()) == 0;
    }
  }
}

}  // namespace

Result<Scratch> Scratch::create(bool for_nobody) {
  std::error_code failed;
  const fs::path parent = fs::temp_directory_path(failed);
  if (failed) return run_error(fmt::format("sandbox: no folder for files: {}", failed.message()));
  std::string name = parent / "npubench-sandbox-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr)
    return run_error(fmt::format("sandbox: cannot make {}: {}", name, std::strerror(errno)));
  Scratch scratch(name);
  if (for_nobody && ::chown(name.c_str(), 65534, 65534) != 0)
    return run_error(fmt::format("sandbox: cannot give {} away: {}", name, std::strerror(errno)));
  return scratch;
}

Scratch::Scratch(Scratch&& other) noexcept : path_(std::exchange(other.path_, fs::path())) {}

Scratch::~Scratch() {
  const auto removed = remove();  // whoever wants to know called it before
}

bool Scratch::is_over(std::uint64_t size_bytes) const {
  std::uint64_t sum = 0;
  int entries = 0;
  std::error_code failed;
  const auto options = fs::directory_options::skip_permission_denied;
  for (fs::recursive_directory_iterator entry(path_, options, failed), end; !failed && entry != end;
       entry.increment(failed)) {
    if (entry.depth() >= kDeepest || ++entries > kMostEntries) return true;
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
