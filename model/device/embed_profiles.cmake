# cmake -DOUTPUT=x.cpp -DSOURCE=folder -P embed_profiles.cmake: machines, stacks and families as
# string literals.
function(list_entries folder result)
  file(GLOB files ${SOURCE}/${folder}/*.json)
  set(entries "")
  foreach(path ${files})
    get_filename_component(name ${path} NAME_WE)
    file(READ ${path} text)
    string(APPEND entries "    {\"${name}\", R\"nb_json(${text})nb_json\"},\n")
  endforeach()
  set(${result} "${entries}" PARENT_SCOPE)
endfunction()

list_entries(profiles profiles)
list_entries(stacks stacks)
list_entries(families families)
file(WRITE ${OUTPUT} "#include \"model/device/embedded_profiles.hpp\"

namespace nb {
namespace {

constexpr EmbeddedFile kProfiles[] = {
${profiles}};
constexpr EmbeddedFile kStacks[] = {
${stacks}};
constexpr EmbeddedFile kFamilies[] = {
${families}};

}  // namespace

std::span<const EmbeddedFile> embedded_profiles() { return kProfiles; }
std::span<const EmbeddedFile> embedded_stacks() { return kStacks; }
std::span<const EmbeddedFile> embedded_families() { return kFamilies; }

}  // namespace nb
")
