# Toolchain for AArch64 (preset "aarch64"): Debian's cross compiler, the arm64 libraries that
# harness/cmake/aarch64_sysroot.sh unpacks, and tests under qemu-user. tests/aarch64.sh does all of it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

get_filename_component(nb_sysroot ${CMAKE_CURRENT_LIST_DIR}/../../build/aarch64-sysroot ABSOLUTE)
if(NOT EXISTS ${nb_sysroot}/.packages)
  message(FATAL_ERROR "no arm64 libraries in ${nb_sysroot}; run: bash harness/cmake/aarch64_sysroot.sh")
endif()
set(CMAKE_SYSROOT ${nb_sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${nb_sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${nb_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig:${nb_sysroot}/usr/share/pkgconfig)

# Where nothing else runs such binaries. NB_EMULATOR tells tests that start binaries of their own.
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L ${nb_sysroot})
