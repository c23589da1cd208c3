# How every part of npubench is compiled: one library a folder, strict warnings, no contraction of
# floating-point expressions (bits are the contract, see README "Same bits").
include_guard()
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
# Imported targets are seen by the folder that finds them and below: what nb_base hands on is found here.
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(TBB REQUIRED)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
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
  target_compile_options(nb_flags INTERFACE -fsanitize=${NB_SANITIZE} -fno-omit-frame-pointer -g1
    -fno-sanitize-recover=all)
  target_link_options(nb_flags INTERFACE -fsanitize=${NB_SANITIZE})
endif()

# nb_component(NAME SOURCES a.cpp b.cpp DEPS nb_base fmt::fmt ...): the library of one folder.
# With NB_HEADER_TESTS every header that no source begins with is also compiled alone, except those that match a
# regular expression of NOT_ALONE (they need flags of their own).
function(nb_component name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;NOT_ALONE" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC nb_flags ${ARG_DEPS})
  if(NB_HEADER_TESTS)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.hpp)
    foreach(pattern ${ARG_NOT_ALONE})
      list(FILTER headers EXCLUDE REGEX ${pattern})
    endforeach()
    cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${CMAKE_SOURCE_DIR}
               OUTPUT_VARIABLE folder)
    set(units)
    foreach(header ${headers})
      # A source that begins with its own header shows the same.
      string(REGEX REPLACE "hpp$" "cpp" source ${header})
      if(source IN_LIST ARG_SOURCES)
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
      add_library(${name}_headers OBJECT ${units})
      target_link_libraries(${name}_headers PRIVATE ${name})
    endif()
  endif()
endfunction()

# nb_test(NAME SOURCES ... DEPS ... [LABELS slow]): one GoogleTest program of one folder under tests/.
function(nb_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE nb_flags ${ARG_DEPS} nb_test_support GTest::gtest_main)
  # Paths only where a source asks for them: the other objects are the same in every checkout, and a
  # compiler cache can share them.
  foreach(source ${ARG_SOURCES})
    file(STRINGS ${source} asks REGEX "NB_(SOURCE|BINARY)_DIR" LIMIT_COUNT 1)
    if(asks)
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_DEFINITIONS
                   NB_SOURCE_DIR="${CMAKE_SOURCE_DIR}" NB_BINARY_DIR="${CMAKE_BINARY_DIR}")
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  set(limit_s 1200)
  if(NB_SANITIZE)  # makes whole suites ten to twenty times slower
    set(limit_s 7200)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${limit_s} LABELS "${ARG_LABELS}")
endfunction()
