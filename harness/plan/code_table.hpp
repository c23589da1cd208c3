// What the build says about the code of each node kind: filled by code_digest.py into a generated
// .cpp file, which only programs link (target nb_code).
#pragma once

#include <span>
#include <string_view>

namespace nb {

struct CodeDigest {
  std::string_view kind;       // "train"
  std::string_view component;  // folder, "model/kernels", or "compiler and flags"
  std::string_view sha256;     // of what of the component the kind can run
};
std::span<const CodeDigest> code_table();  // sorted

}  // namespace nb
