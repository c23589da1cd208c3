#include "model/kernels/openblas.hpp"

#include <cblas.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <mutex>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/simd_level.hpp"

// Exported by Debian's OpenBLAS, not declared in cblas.h: choose the kernel family again (host.md:
// the library reads OPENBLAS_CORETYPE in a constructor, long before main).
extern "C" {
void gotoblas_dynamic_quit(void);
void gotoblas_dynamic_init(void);
}

namespace nb::kernels {
namespace {

void choose_kernels() {
  static std::once_flag once;
  std::call_once(once, [] {
#if defined(__x86_64__)
    const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512cd");
    const char* core = avx512 ? "SkylakeX" : __builtin_cpu_supports("avx2") ? "Haswell" : nullptr;
    if (core != nullptr) {
      setenv("OPENBLAS_CORETYPE", core, 1);
      gotoblas_dynamic_quit();
      gotoblas_dynamic_init();
    }
#endif
    openblas_set_num_threads(1);
  });
}

void for_each_band(std::size_t bands, const std::function<void(std::size_t)>& body) {
#if defined(__SANITIZE_THREAD__)  // Debian's TBB is built without it
  parallel_for(bands, 1, body);
#else
  if (bands == 1 || threads() == 1) {
    for (std::size_t band = 0; band < bands; ++band) body(band);
    return;
  }
  tbb::task_arena arena(threads());
  arena.execute([&] { tbb::parallel_for(std::size_t{0}, bands, body); });
#endif
}

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, std::int64_t k, ConstMatrix a, ConstMatrix b,
          Matrix c, bool accumulate) {
  choose_kernels();
  if (c.size() == 0) return;
  // Bands of rows of C, cut by shape; a band keeps OpenBLAS's own blocking busy.
  constexpr std::int64_t kBand = 256;
  const std::int64_t bands = (c.rows + kBand - 1) / kBand;
  for_each_band(static_cast<std::size_t>(bands), [&](std::size_t band) {
    const std::int64_t row = static_cast<std::int64_t>(band) * kBand;
    const std::int64_t rows = std::min(kBand, c.rows - row);
    const float* from = ta == CblasNoTrans ? a.data + row * a.stride : a.data + row;
    cblas_sgemm(CblasRowMajor, ta, tb, static_cast<int>(rows), static_cast<int>(c.cols),
                static_cast<int>(k), 1.0f, from, static_cast<int>(a.stride), b.data,
                static_cast<int>(b.stride), accumulate ? 1.0f : 0.0f, c.row(row),
                static_cast<int>(c.stride));
  });
}

}  // namespace

void openblas_nt(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate) {
  NB_CHECK(a.cols == b.cols && c.rows == a.rows && c.cols == b.rows, "[openblas_nt] shapes differ");
  gemm(CblasNoTrans, CblasTrans, a.cols, a, b, c, accumulate);
}

void openblas_nn(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate) {
  NB_CHECK(a.cols == b.rows && c.rows == a.rows && c.cols == b.cols, "[openblas_nn] shapes differ");
  gemm(CblasNoTrans, CblasNoTrans, a.cols, a, b, c, accumulate);
}

void openblas_tn(ConstMatrix a, ConstMatrix b, Matrix c, bool accumulate) {
  NB_CHECK(a.rows == b.rows && c.rows == a.cols && c.cols == b.cols, "[openblas_tn] shapes differ");
  gemm(CblasTrans, CblasNoTrans, a.rows, a, b, c, accumulate);
}

OpenBlasInfo openblas_info() {
  choose_kernels();
  return {openblas_get_corename(), openblas_get_config()};
}

}  // namespace nb::kernels
