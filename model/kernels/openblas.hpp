// OpenBLAS as cpu_ref's fp32 product: fast reference, oracle and yardstick. Its bits depend on the
// host and its kernel family, so nothing gated rests on it. Debian's pthread flavour with one
// thread per call; bands of rows over TBB. Opened at first use, with the best kernel family for the
// host (SkylakeX or Haswell), whatever OPENBLAS_CORETYPE says. A host without the library:
// NB_CHECK, but for openblas_info.
#pragma once

#include <string>

#include "model/tensor/view.hpp"

namespace nb::kernels {

void openblas_nt(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate = false);
void openblas_nn(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate = false);
void openblas_tn(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate = false);

struct OpenBlasInfo {
  std::string core;    // openblas_get_corename(), or empty: there is none
  std::string config;  // openblas_get_config(), or why there is none
};
OpenBlasInfo openblas_info();  // for a record's environment

}  // namespace nb::kernels
