// What the build says about the sources: filled by code_digest.cmake into a generated .cpp file.
#pragma once

#include <span>
#include <string_view>

namespace nb {

struct ComponentDigest {
  std::string_view folder;  // "model/kernels"
  std::string_view sha256;
};
struct KindCode {
  std::string_view kind;     // "train"
  std::string_view folders;  // space-separated
};
std::span<const ComponentDigest> component_digests();
std::span<const KindCode> kind_codes();

}  // namespace nb
