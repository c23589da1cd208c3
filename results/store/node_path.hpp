// A node's folder by a part of its name, as people type it: results/runs/smoke/3f2a, or
// results/runs/smoke/train-base-ascend_910b3-s1 without the key at its end. Reads folder names
// only.
#pragma once

#include <filesystem>

#include "harness/base/result.hpp"

namespace nb {

// The path itself where something is there, or where nothing matches. Else the one folder beside it
// whose key begins with the given digits (4 or more of the 8 that end its name), or whose name is
// the given one and a key. bad_input with the candidates where several match.
Result<std::filesystem::path> find_node_path(const std::filesystem::path& given);

}  // namespace nb
