// The files of model/device/profiles, stacks and families as text in the binary; written at build
// time by embed_profiles.cmake. Not for other folders: they call load_profile.
#pragma once

#include <span>
#include <string_view>

namespace nb {

struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};
std::span<const EmbeddedFile> embedded_profiles();
std::span<const EmbeddedFile> embedded_stacks();
std::span<const EmbeddedFile> embedded_families();

}  // namespace nb
