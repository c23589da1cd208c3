// The table of node kinds: name, what it is, and the code that can change its output.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "harness/plan/work.hpp"

namespace nb {

struct NodeKindInfo {
  std::string_view name;     // "train", as in keys, records and folder names
  std::string_view meaning;  // one line
};
const NodeKindInfo& info(NodeKind kind);

// Component ("model/kernels") → SHA-256 of what nodes of this kind can run of it, by the symbols of
// the object files and the compiler's own record of included files; "compiler and flags" → of
// those. Taken when the program was built: uncommitted edits count, build folders, paths,
// sanitizers and tests do not (code_digest.py).
const std::map<std::string, std::string>& code_digests(NodeKind kind);
// One SHA-256 over the above.
std::string code_digest(NodeKind kind);

}  // namespace nb
