// The files of model/device/profiles as text in the binary; written at build time by
// embed_profiles.cmake. Not for other folders: they call load_profile.
#pragma once

#include <span>
#include <string_view>

namespace nb {

struct EmbeddedProfile {
  std::string_view name;
  std::string_view text;
};
std::span<const EmbeddedProfile> embedded_profiles();

}  // namespace nb
