// One process at a time works on a node, also when several share a results folder. Files:
// <suite>/.locks/<node>.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "harness/base/file_lock.hpp"

namespace nb {

// Waits while another process holds it; told once through on_wait ("process 123 on host").
Result<FileLock> lock_node(const std::filesystem::path& node_folder,
                           const std::function<void(const std::string& holder)>& on_wait);
// Like lock_node, but an empty lock (held() false) at once instead of waiting.
Result<FileLock> try_lock_node(const std::filesystem::path& node_folder);

}  // namespace nb
