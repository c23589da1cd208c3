# Runs at build time (cmake -P): SHA-256 over the sources of every component, as C++ tables.
#   SOURCE_DIR  root of the checkout       LIST  file with lines "folder;source;source;…", sorted
#   KINDS       file with lines "kind;folder folder …"     FLAGS  compiler flags that change values
#   OUTPUT      the .cpp file to write (only when it changes)
# A digest covers names relative to the root and contents, so it depends on neither paths nor times.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${LIST} lines)
set(digests "")
foreach(line IN LISTS lines)
  string(REPLACE "|" ";" parts "${line}")
  list(POP_FRONT parts folder)
  set(text "${FLAGS}\n")
  foreach(source IN LISTS parts)
    if(EXISTS ${SOURCE_DIR}/${source})
      file(SHA256 ${SOURCE_DIR}/${source} digest)
      string(APPEND text "${source} ${digest}\n")
    endif()
  endforeach()
  string(SHA256 digest "${text}")
  string(APPEND digests "    {\"${folder}\", \"${digest}\"},\n")
endforeach()

file(STRINGS ${KINDS} lines)
set(kinds "")
foreach(line IN LISTS lines)
  string(REPLACE "|" ";" parts "${line}")
  list(GET parts 0 kind)
  list(GET parts 1 folders)
  string(APPEND kinds "    {\"${kind}\", \"${folders}\"},\n")
endforeach()

set(content "// Made by harness/plan/code_digest.cmake.
#include \"harness/plan/code_table.hpp\"

namespace nb {
namespace {
constexpr ComponentDigest kDigests[] = {
${digests}};
constexpr KindCode kKinds[] = {
${kinds}};
}  // namespace
std::span<const ComponentDigest> component_digests() { return kDigests; }
std::span<const KindCode> kind_codes() { return kKinds; }
}  // namespace nb
")
file(WRITE ${OUTPUT}.new "${content}")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
