# nb_code: the table of code digests (code_digest.py) as an object library, for programs that plan or
# run nodes. It is made when all other objects are there, so nothing but programs may link it.
# Included when every component is defined.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT CMAKE_GENERATOR MATCHES "^Ninja")
  message(FATAL_ERROR "npubench keeps its results by the code that made them, which Ninja's record of "
                      "included files tells: cmake --preset release, or -G Ninja")
endif()

# Where each kind begins; runner.cpp is in every one. What else belongs to a kind is found, not listed.
set(begins_eval harness/run/evaluation.cpp)
set(begins_micro harness/microbench/main.cpp)

# Libraries of ours below a folder, and the programs that nodes start.
function(nb_libraries_below folder out)
  get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
  get_property(below DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
  set(found)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(STATIC|OBJECT)_LIBRARY$" AND NOT target MATCHES "_headers$")
      list(APPEND found ${target})
    endif()
  endforeach()
  foreach(folder_below ${below})
    nb_libraries_below(${folder_below} more)
    list(APPEND found ${more})
  endforeach()
  set(${out} ${found} PARENT_SCOPE)
endfunction()

nb_libraries_below(${CMAKE_SOURCE_DIR} parts)
set(objects)
foreach(part ${parts} npubench_microbench)
  list(APPEND objects $<TARGET_OBJECTS:${part}>)
endforeach()

set(table ${CMAKE_BINARY_DIR}/code_table.cpp)
file(GENERATE OUTPUT ${table}.objects CONTENT "$<JOIN:${objects},\n>\n")
set(NB_CODE_DIGEST_COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/code_digest.py
    --source ${CMAKE_SOURCE_DIR} --build ${CMAKE_BINARY_DIR} --objects ${table}.objects --nm ${CMAKE_NM}
    "--compiler=${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
foreach(kind dataset tokenizer shards conversations train eval micro predict probe)
  list(APPEND begins_${kind} harness/run/${kind}_stage.cpp harness/run/runner.cpp)
  list(JOIN begins_${kind} "," begins)
  list(APPEND NB_CODE_DIGEST_COMMAND "--kind=${kind}=${begins}")
endforeach()
if(NB_ALONE)
  get_property(units GLOBAL PROPERTY nb_units)
  file(CONFIGURE OUTPUT ${table}.units CONTENT "${units}" @ONLY)
  list(APPEND NB_CODE_DIGEST_COMMAND --units ${table}.units)
endif()
add_custom_command(OUTPUT ${table}
  COMMAND ${NB_CODE_DIGEST_COMMAND} --output ${table}
  DEPENDS ${objects} ${table}.objects ${CMAKE_CURRENT_LIST_DIR}/code_digest.py
  COMMENT "Digest of the code" VERBATIM COMMAND_EXPAND_LISTS)
add_library(nb_code OBJECT ${table})
target_link_libraries(nb_code PRIVATE nb_flags)
target_link_libraries(npubench PRIVATE nb_code)
