// One process at a time works on a node, also when several share a results folder. The lock is the
// kernel's (flock), so it ends with its process: a killed run leaves nothing to clean up. Files:
// <suite>/.locks/<node>.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "harness/base/result.hpp"

namespace nb {

class NodeLock {
 public:
  // Waits while another process holds it; told once through on_wait ("process 123 on host").
  static Result<NodeLock> acquire(const std::filesystem::path& node_folder,
                                  const std::function<void(const std::string& holder)>& on_wait);
  // Like acquire, but an empty lock (held() false) at once instead of waiting.
  static Result<NodeLock> try_acquire(const std::filesystem::path& node_folder);

  NodeLock(NodeLock&& other) noexcept;
  NodeLock& operator=(NodeLock&& other) noexcept;
  ~NodeLock();
  bool held() const { return descriptor_ >= 0; }

 private:
  explicit NodeLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_ = -1;
};

}  // namespace nb
