# cmake -DOUTPUT=x.cpp "-DPROFILES=a.json;b.json" -P embed_profiles.cmake: profiles as string literals.
set(entries "")
foreach(profile ${PROFILES})
  get_filename_component(name ${profile} NAME_WE)
  file(READ ${profile} text)
  string(APPEND entries "    {\"${name}\", R\"nb_json(${text})nb_json\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"model/device/embedded_profiles.hpp\"

namespace nb {
namespace {

constexpr EmbeddedProfile kProfiles[] = {
${entries}};

}  // namespace

std::span<const EmbeddedProfile> embedded_profiles() { return kProfiles; }

}  // namespace nb
")
