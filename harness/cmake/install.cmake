# cmake --install, and cpack -G DEB. The program finds what is installed beside it (harness/base/locations.hpp).
include(GNUInstallDirs)
set(nb_share ${CMAKE_INSTALL_DATADIR}/npubench)

install(TARGETS npubench npubench_microbench RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY suites DESTINATION ${nb_share})
install(DIRECTORY model/device/profiles model/device/stacks model/device/families DESTINATION ${nb_share}/devices)
install(DIRECTORY results/import/example DESTINATION ${nb_share} PATTERN make.py EXCLUDE)
install(PROGRAMS harness/capture/nanochat_capture.py harness/capture/walk.sh DESTINATION ${nb_share}/capture)
install(FILES harness/capture/README.md DESTINATION ${nb_share}/capture)
install(FILES README.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# Written by the program itself, from the options that its verbs declare.
set(nb_pages)
foreach(page "man;npubench.1" "completion bash;npubench.bash" "completion zsh;_npubench" "completion fish;npubench.fish")
  list(GET page 0 option)
  list(GET page 1 file)
  separate_arguments(option)
  set(output ${CMAKE_BINARY_DIR}/pages/${file})
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/pages
    COMMAND npubench --${option} > ${output}
    DEPENDS npubench COMMENT "Writing ${file}")
  list(APPEND nb_pages ${output})
endforeach()
add_custom_target(nb_pages ALL DEPENDS ${nb_pages})
install(FILES ${CMAKE_BINARY_DIR}/pages/npubench.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_BINARY_DIR}/pages/npubench.bash RENAME npubench
  DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${CMAKE_BINARY_DIR}/pages/_npubench DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${CMAKE_BINARY_DIR}/pages/npubench.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME npubench)
set(CPACK_PACKAGE_CONTACT "npubench maintainers <npubench@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compare language models on NPUs and GPUs, predict their steps, train small ones")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Opened when the device cpu_ref asks for it; started for plots, downloads and programs that models write.
set(CPACK_DEBIAN_PACKAGE_DEPENDS libopenblas0-pthread)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "gnuplot-nox | gnuplot, curl, ca-certificates, bubblewrap, python3")
include(CPack)
