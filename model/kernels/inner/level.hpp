// The level that this translation unit is compiled for. The build defines NB_LEVEL (a namespace
// name) and NB_LEVEL_ID beside the instruction flags; without them a file means the scalar level.
#pragma once

#define NB_LEVEL_SCALAR 0
#define NB_LEVEL_AVX2 1
#define NB_LEVEL_AVX512 2
#define NB_LEVEL_AVX512BF16 3
#define NB_LEVEL_NEON 4

#ifndef NB_LEVEL
#define NB_LEVEL scalar
#define NB_LEVEL_ID NB_LEVEL_SCALAR
#endif

// Everything inside is local to the translation unit: the linker cannot swap it for another level's
// code.
#define NB_LOCAL_BEGIN                     \
  namespace nb::kernels::inner::NB_LEVEL { \
  namespace {
#define NB_LOCAL_END \
  }                  \
  }
// Lanes in registers want every operation inlined. In plain C++, and in sanitized builds, that only
// makes the compiler slow (a minute and more for a file).
#if NB_LEVEL_ID == NB_LEVEL_SCALAR || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NB_OP [[maybe_unused]] inline
#define NB_BODY
#else
#define NB_OP inline __attribute__((always_inline))
#define NB_BODY __attribute__((always_inline))  // of a lambda
#endif
