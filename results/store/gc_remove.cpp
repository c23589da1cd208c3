#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "harness/base/fs.hpp"
#include "results/store/gc.hpp"
#include "results/store/gc_checks.hpp"

namespace nb {
namespace {

// <folder>/.removed, of one process at a time. <n>/<name>: what lay at <folder>/<name>.
class Removed {
 public:
  static Result<Removed> open(const fs::path& folder) {
    const fs::path path = folder / kRemovedFolder;
    for (;;) {
      if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return failed(path, "make");
      const int descriptor = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
      if (descriptor < 0 && errno == ENOENT) continue;  // another process was just done with it
      if (descriptor < 0) return failed(path, "open");
      Removed removed(path, descriptor);
      if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0)
        return errno == EWOULDBLOCK
                   ? run_error(
                         fmt::format("another npubench runs gc is at work in {}; it ends first",
                                     folder.string()))
                   : failed(path, "lock");
      struct stat opened {
      }, there{};
      if (::fstat(descriptor, &opened) == 0 && ::stat(path.c_str(), &there) == 0 &&
          opened.st_ino == there.st_ino && opened.st_dev == there.st_dev)
        return removed;
    }
  }
  Removed(Removed&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}
  ~Removed() {
    if (descriptor_ < 0) return;
    ::rmdir(path_.c_str());  // only where it is empty
    ::close(descriptor_);
  }

  const fs::path& path() const { return path_; }
  // A folder of its own for what is renamed next.
  Result<fs::path> next() {
    for (;;) {
      fs::path slot = path_ / std::to_string(++last_);
      if (::mkdir(slot.c_str(), 0777) == 0) return slot;
      if (errno != EEXIST) return failed(slot, "make");
    }
  }

 private:
  Removed(fs::path path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  static tl::unexpected<Error> failed(const fs::path& path, const char* what) {
    return run_error(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
  }

  fs::path path_;
  int descriptor_;
  int last_ = 0;
};

// Why what is there now must not go; empty: it may. runs: paths below `at` that were to go; any
// when nullptr.
std::string must_stay(const fs::path& at, const std::vector<std::string>* runs) {
  const auto found = find_runs(at);
  if (!found) return found.error().message;
  for (const RunFolder& run : *found) {
    if (!run.kept_by.empty()) return fmt::format("has {} now", run.kept_by);
    if (is_worked_on(run.path)) return "is being worked on";
    const std::string name = run.path.lexically_relative(at).string();
    if (runs != nullptr && std::find(runs->begin(), runs->end(), name) == runs->end())
      return fmt::format("holds another run now, {}", name);
  }
  return {};
}

std::string rename_error(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  if (!error) fs::rename(from, to, error);
  return error ? error.message() : "";
}

// The empty folders that were made for what did not come, or went back: <slot>/a/b of "a/b/c".
void drop_empty(const fs::path& slot, const std::string& name) {
  fs::path part = fs::path(name).parent_path();
  for (; !part.empty(); part = part.parent_path()) ::rmdir((slot / part).c_str());
  ::rmdir(slot.c_str());
}

void remove_slot(const fs::path& slot, GcDone& done) {
  std::error_code error;
  fs::remove_all(slot, error);
  if (error) done.failures.push_back(fmt::format("{}: {}", slot.string(), error.message()));
}

// Of an interrupted removal: deleted, but for a run that was accepted between its renaming and the
// kill, which goes back.
void finish(const fs::path& slot, const fs::path& folder, GcDone& done) {
  const auto runs = find_runs(slot);
  if (runs)
    for (const RunFolder& run : *runs) {
      if (run.kept_by.empty()) continue;
      const fs::path name = run.path.lexically_relative(slot);
      std::error_code ignored;
      const std::string error = fs::exists(folder / name, ignored)
                                    ? "another run has its place"
                                    : rename_error(run.path, folder / name);
      if (error.empty()) {
        done.put_back.push_back(fmt::format("{}: has {}", name.string(), run.kept_by));
      } else {
        done.failures.push_back(fmt::format("{}: has {} and cannot go back to {}: {}",
                                            run.path.string(), run.kept_by,
                                            (folder / name).string(), error));
        return;
      }
    }
  remove_slot(slot, done);
}

void remove_target(const GcTarget& target, const fs::path& folder, Removed& removed, GcDone& done) {
  const fs::path from = folder / target.name;
  std::vector<std::string> inside;
  for (const std::string& run : target.runs)
    inside.push_back(fs::path(run).lexically_relative(target.name).string());
  std::error_code ignored;
  if (!fs::exists(from, ignored)) return;  // gone by itself
  if (const std::string why = must_stay(from, &inside); !why.empty()) {
    done.put_back.push_back(fmt::format("{}: {}", target.name, why));
    return;
  }
  const auto slot = removed.next();
  if (!slot) {
    done.failures.push_back(slot.error().message);
    return;
  }
  const fs::path to = *slot / target.name;
  if (const std::string error = rename_error(from, to); !error.empty()) {
    done.failures.push_back(fmt::format("{}: {}", from.string(), error));
    drop_empty(*slot, target.name);
    return;
  }
  if (const std::string why = must_stay(to, &inside); !why.empty()) {
    const std::string error =
        fs::exists(from, ignored) ? "its place is taken" : rename_error(to, from);
    if (error.empty())
      done.put_back.push_back(fmt::format("{}: {}", target.name, why));
    else
      done.failures.push_back(fmt::format("{}: {}, and cannot go back to {}: {}", to.string(), why,
                                          from.string(), error));
    drop_empty(*slot, target.name);
    return;
  }
  done.removed.push_back(target.name);
  remove_slot(*slot, done);
}

}  // namespace

Result<GcDone> remove_planned(const GcPlan& plan) {
  GcDone done;
  NB_TRY(Removed removed, Removed::open(plan.folder));
  std::vector<fs::path> leftovers;
  std::error_code error;
  for (fs::directory_iterator at(removed.path(), error), end; !error && at != end;
       at.increment(error))
    leftovers.push_back(at->path());
  std::sort(leftovers.begin(), leftovers.end());
  for (const fs::path& slot : leftovers) finish(slot, plan.folder, done);
  for (const GcTarget& target : plan.targets) remove_target(target, plan.folder, removed, done);
  return done;
}

}  // namespace nb
