# How every part of npubench is compiled: one library per folder, strict warnings, no contraction of
# floating-point expressions (bits are the contract, see README "Same bits").
include_guard()
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
# Imported targets are seen by the folder that finds them and below: what nb_base hands on is found here.
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(TBB REQUIRED)
find_package(ZLIB REQUIRED)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
# Hardening, as Debian builds its packages (dpkg-buildflags, hardening=+all), and control flow that the processor
# checks. tests/repo/hardening_test.cpp looks at the program.
set(nb_hardening -fstack-protector-strong -fstack-clash-protection -fPIE)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND nb_hardening -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND nb_hardening -mbranch-protection=standard)
endif()
if(NOT NB_SANITIZE)  # sanitizers check the same themselves
  list(APPEND nb_hardening -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
endif()
list(JOIN nb_hardening " " nb_hardening)
# For sanitizers and tests/aarch64.sh --short: half of the time to compile. The bits are those of -O2: neither level
# contracts or reorders floating-point expressions.
option(NB_QUICK "compile for a short build instead of a short run: -O1" OFF)
set(nb_level -O2)
set(nb_hot -O3)  # for what every byte passes through
if(NB_QUICK)  # one level for all: GCC 12 crashes where headers were precompiled at -O1 and are used at another
  set(nb_level -O1)
  set(nb_hot -O1)
endif()
# No path of the checkout in the program: two checkouts give the same bytes.
set(CMAKE_CXX_FLAGS_RELEASE "${nb_level} -DNDEBUG ${nb_hardening} -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=")
set(CMAKE_EXE_LINKER_FLAGS_RELEASE "-pie -Wl,-z,relro,-z,now,-z,noexecstack")
# For what runs short: four fifths of the time to compile. Optimisation changes no bits here: neither level contracts
# or reorders floating-point expressions.
set(nb_cold $<$<CONFIG:Release>:-O1>)
set(nb_test_level $<$<CONFIG:Release>:-O0> $<$<CONFIG:Release>:-U_FORTIFY_SOURCE>)  # FORTIFY needs -O1
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})

add_library(nb_flags INTERFACE)
target_compile_features(nb_flags INTERFACE cxx_std_20)
target_include_directories(nb_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(nb_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wswitch -Werror
  $<$<COMPILE_LANGUAGE:CXX>:-Wmissing-declarations>
  -ffp-contract=off -fno-math-errno)
if(NB_SANITIZE)
  # GCC 12 takes values for uninitialised that its sanitizers' checks stand before.
  target_compile_options(nb_flags INTERFACE -fsanitize=${NB_SANITIZE} -fno-omit-frame-pointer -g1
    -fno-sanitize-recover=all $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(nb_flags INTERFACE -fsanitize=${NB_SANITIZE})
endif()

# tests/fuzz: libFuzzer counts the edges that an input reaches, where the compiler is clang; its own loop asks GCC for
# the places. -O1 keeps the reports' lines.
if(NB_FUZZ)
  set(nb_counters $<IF:$<CXX_COMPILER_ID:Clang>,-fsanitize=fuzzer-no-link,-fsanitize-coverage=trace-pc>)
  target_compile_options(nb_flags INTERFACE -O1 $<$<COMPILE_LANGUAGE:CXX>:${nb_counters}>)
endif()

# Most of the time to compile a source is spent reading the standard library, fmt and JSON. Sources read them once,
# precompiled. Only libraries are, nothing of ours: a source depends on what it includes itself. Not the product's for
# another processor, where each source shows that it includes what it uses.
set(NB_ALONE ${CMAKE_CROSSCOMPILING} CACHE BOOL "the product's sources are compiled one by one, nothing precompiled")
# ccache hands a unit with precompiled headers on to the compiler unless it is told that macros and __TIME__ in them
# may be left out of the comparison: nothing here depends on either.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache$")
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()

# nb_precompiled(NAME DEPS fmt::fmt ... HEADERS <vector> ... [OPTIONS -O1]): these headers for sources of other targets.
# The deps and options give the definitions and the level, which must be those of the targets that use them.
function(nb_precompiled name)
  cmake_parse_arguments(ARG "" "" "DEPS;HEADERS;OPTIONS" ${ARGN})
  set(unit ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${unit} CONTENT "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${unit})
  target_link_libraries(${name} PRIVATE nb_flags ${ARG_DEPS})
  target_compile_options(${name} PRIVATE ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  set(${name}_header ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx PARENT_SCOPE)
endfunction()

set(nb_common_headers
    <fmt/format.h> <tl/expected.hpp> <algorithm> <array> <bit> <charconv> <cmath> <cstdint> <filesystem> <functional>
    <limits> <map> <memory> <optional> <set> <span> <string> <string_view> <utility> <variant> <vector>)
nb_precompiled(nb_precompiled_common DEPS fmt::fmt HEADERS ${nb_common_headers})
# Apart, since every source that reads it compiles its parser anew.
nb_precompiled(nb_precompiled_json DEPS fmt::fmt nlohmann_json::nlohmann_json
               HEADERS ${nb_common_headers} <nlohmann/json.hpp>)
set(nb_includes_json "^#include (<nlohmann/json.hpp>|\"results/store/json_reader.hpp\")")

# nb_units(COMPONENT SOURCES): which sources of this list are one unit; takes the words UNIT out of it.
function(nb_units component sources)
  set(is_said OFF)
  if(UNIT IN_LIST ${sources})
    set(is_said ON)
  endif()
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR} OUTPUT_VARIABLE folder)
  set(unit 0)
  set(size 0)
  foreach(source ${${sources}})
    if(source STREQUAL UNIT OR (NOT is_said AND size EQUAL 16))
      math(EXPR unit "${unit} + 1")
      set(size 0)
    endif()
    if(source MATCHES "[.]cpp$")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${unit})
      math(EXPR size "${size} + 1")
      if(is_said)
        set_property(GLOBAL APPEND_STRING PROPERTY nb_units "${component} ${unit}\t${folder}/${source}\n")
      endif()
    endif()
  endforeach()
  list(REMOVE_ITEM ${sources} UNIT)
  set(${sources} ${${sources}} PARENT_SCOPE)
endfunction()

# nb_component(NAME SOURCES a.cpp b.cpp DEPS nb_base fmt::fmt ... [COLD] [PRECOMPILED p]): the library of one folder.
# COLD: nothing in it runs long, so it is optimised for a short build.
# PRECOMPILED: the headers of nb_precompiled that its sources read, where JSON and the common ones are not all.
# Sixteen sources are compiled as one unit, which halves the time: most of it is spent reading headers. The digest of a
# node's code is taken by unit, so a node is renewed by a change in any of them and in what they call. Where the
# kinds of nodes run different sources of a folder, it says which sources are one unit, and by whom they are run:
# SOURCES UNIT a.cpp b.cpp UNIT c.cpp; tests/aarch64.sh shows that this is so (code_digest.py --units).
# tests/units.py shows that no source calls a function of another's own namespace.
# Not for another processor (NB_ALONE), where each is compiled by itself.
# With NB_HEADER_TESTS every header is also compiled alone (with NB_ALONE those that no source begins with), except those that match a
# regular expression of NOT_ALONE (they need flags of their own).
function(nb_component name)
  cmake_parse_arguments(ARG "COLD" "PRECOMPILED" "SOURCES;DEPS;NOT_ALONE" ${ARGN})
  nb_units(${name} ARG_SOURCES)
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC nb_flags ${ARG_DEPS})
  if(NOT NB_ALONE)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
    if(NOT ARG_PRECOMPILED)
      nb_any_source_matches(has_json ${nb_includes_json} ${ARG_SOURCES})
      set(ARG_PRECOMPILED nb_precompiled_common)
      if(has_json)
        set(ARG_PRECOMPILED nb_precompiled_json)
      endif()
    endif()
    target_precompile_headers(${name} REUSE_FROM ${ARG_PRECOMPILED})
    # A type of a source's own namespace is one of another file here: this file includes it.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
  if(ARG_COLD)
    target_compile_options(${name} PRIVATE ${nb_cold})
  endif()
  if(NB_HEADER_TESTS)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.hpp)
    foreach(pattern ${ARG_NOT_ALONE})
      list(FILTER headers EXCLUDE REGEX ${pattern})
    endforeach()
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR}
               OUTPUT_VARIABLE folder)
    set(units)
    # Folders below with a CMakeLists.txt of their own are components that see to their own headers.
    file(GLOB_RECURSE inner_lists CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} CMakeLists.txt)
    list(REMOVE_ITEM inner_lists CMakeLists.txt)
    foreach(inner_list ${inner_lists})
      cmake_path(GET inner_list PARENT_PATH inner)
      list(FILTER headers EXCLUDE REGEX "^${inner}/")
    endforeach()
    foreach(header ${headers})
      # A source that is compiled by itself and begins with its own header shows the same.
      string(REGEX REPLACE "hpp$" "cpp" source ${header})
      if(NB_ALONE AND source IN_LIST ARG_SOURCES)
        file(STRINGS ${source} first_include REGEX "^#include" LIMIT_COUNT 1)
        if(first_include STREQUAL "#include \"${folder}/${header}\"")
          continue()
        endif()
      endif()
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/alone/${header}.cpp)
      file(CONFIGURE OUTPUT ${unit} CONTENT "#include \"${folder}/${header}\"\n")
      list(APPEND units ${unit})
    endforeach()
    if(units)
      add_library(${name}_headers OBJECT EXCLUDE_FROM_ALL ${units})
      if(NOT TARGET nb_headers)
        add_custom_target(nb_headers)
      endif()
      add_dependencies(nb_headers ${name}_headers)
      target_link_libraries(${name}_headers PRIVATE ${name})
      target_compile_options(${name}_headers PRIVATE ${nb_cold})  # only their reading matters
      if(NOT NB_ALONE)
        target_precompile_headers(${name}_headers REUSE_FROM nb_precompiled_common)
      endif()
    endif()
  endif()
endfunction()

# nb_any_source_matches(RESULT REGEX a.cpp ...): whether a line of these sources of this folder does.
function(nb_any_source_matches result regex)
  set(${result} OFF PARENT_SCOPE)
  foreach(source ${ARGN})
    get_source_file_property(is_generated ${source} GENERATED)
    if(is_generated OR NOT source MATCHES "[.]cpp$")
      continue()
    endif()
    file(STRINGS ${source} found REGEX ${regex} LIMIT_COUNT 1)
    if(found)
      set(${result} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Seconds that a test program may take; sanitizers make whole suites ten to twenty times slower.
set(nb_test_limit_s 1800)
if(NB_SANITIZE)
  set(nb_test_limit_s 7200)
endif()

# nb_test_again(PROGRAM NAME FILTER COST s): some tests of a program as a test of ctest of their own, with a file of
# results of its own.
function(nb_test_again program name filter)
  cmake_parse_arguments(ARG "" "COST" "" ${ARGN})
  add_test(NAME ${name} COMMAND ${program} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${nb_test_limit_s} COST ${ARG_COST}
    ENVIRONMENT "GTEST_FILTER=${filter};GTEST_OUTPUT=xml:${CMAKE_BINARY_DIR}/test_results/${name}.xml")
endfunction()

# nb_test(NAME SOURCES ... DEPS ... [COST s] [HOT] [READS_SOURCES] [TSAN filter]): one GoogleTest program of one folder
# under tests/.
# COST: about how many seconds it takes, where that is many: ctest starts the longest first.
# HOT: its sources compute much themselves (references of kernels); the others are not optimised, which takes a
# third less time to compile.
# READS_SOURCES: it reads C++ sources or documents of the tree (tests/changed.py).
# TSAN: those of its tests that tests/check.sh --tsan runs, as GoogleTest's filter; "*": all.
function(nb_test name)
  cmake_parse_arguments(ARG "HOT;READS_SOURCES" "COST;TSAN" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE nb_flags ${ARG_DEPS} nb_test_support GTest::gtest_main)
  set(precompiled nb_precompiled_test)
  if(ARG_HOT)
    string(APPEND precompiled _hot)
    target_compile_options(${name} PRIVATE ${nb_cold})
  else()
    target_compile_options(${name} PRIVATE ${nb_test_level})
  endif()
  # Sixteen sources a unit: what they share is read and its templates are compiled once.
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
  nb_any_source_matches(has_json ${nb_includes_json} ${ARG_SOURCES})
  if(has_json)
    string(APPEND precompiled _json)
  endif()
  target_precompile_headers(${name} REUSE_FROM ${precompiled})
  # Paths only where a source asks for them: the other objects are the same in every checkout, and a
  # compiler cache can share them.
  nb_any_source_matches(asks_for_paths "NB_(SOURCE|BINARY)_DIR" ${ARG_SOURCES})
  if(asks_for_paths)
    target_compile_definitions(${name} PRIVATE NB_SOURCE_DIR="${CMAKE_SOURCE_DIR}" NB_BINARY_DIR="${CMAKE_BINARY_DIR}")
  endif()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${nb_test_limit_s})
  if(ARG_READS_SOURCES)
    set_property(TEST ${name} APPEND PROPERTY LABELS sources)
  endif()
  if(ARG_TSAN AND NB_SANITIZE MATCHES thread)
    nb_under_tsan(${name})
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "GTEST_FILTER=${ARG_TSAN}")
  endif()
  if(ARG_COST)
    set_tests_properties(${name} PROPERTIES COST ${ARG_COST})
  endif()
endfunction()

# nb_under_tsan(NAME): a test program that tests/check.sh --tsan builds and runs.
function(nb_under_tsan name)
  if(NOT TARGET nb_tsan)
    add_custom_target(nb_tsan)
  endif()
  add_dependencies(nb_tsan ${name})
  set_property(TEST ${name} APPEND PROPERTY LABELS tsan)
endfunction()
