#include "harness/run/node_lock.hpp"

#include "harness/base/fs.hpp"

namespace nb {
namespace {

fs::path lock_path(const fs::path& node_folder) {
  return node_folder.parent_path() / ".locks" / node_folder.filename();
}

}  // namespace

Result<FileLock> lock_node(const fs::path& node_folder,
                           const std::function<void(const std::string&)>& on_wait) {
  NB_TRY(FileLock lock, FileLock::acquire(lock_path(node_folder), on_wait));
  lock.sign();
  return lock;
}

Result<FileLock> try_lock_node(const fs::path& node_folder) {
  NB_TRY(FileLock lock, FileLock::try_acquire(lock_path(node_folder)));
  if (lock.held()) lock.sign();
  return lock;
}

}  // namespace nb
