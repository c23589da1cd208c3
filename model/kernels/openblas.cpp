#include "model/kernels/openblas.hpp"

#include <cblas.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"

namespace nb::kernels {
namespace {

// While it lives, an environment variable has this value.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    setenv(name, value, 1);
  }
  ~Variable() {
    if (before_)
      setenv(name_, before_->c_str(), 1);
    else
      unsetenv(name_);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

const char* best_core() {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512cd");
  if (avx512) return "SkylakeX";
  if (__builtin_cpu_supports("avx2")) return "Haswell";
#endif
  return nullptr;
}

// Opened at first use: linked, it would start threads of its own before main, which then spin for
// 0.1 s, and read OPENBLAS_CORETYPE before anyone could choose.
class Library {
 public:
  Library() {
    const Variable alone("OPENBLAS_NUM_THREADS", "1");
    std::optional<Variable> core;
    if (const char* best = best_core()) core.emplace("OPENBLAS_CORETYPE", best);
    void* handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      failure = dlerror();
      return;
    }
    find(handle, "cblas_sgemm", sgemm);
    find(handle, "openblas_get_corename", corename);
    find(handle, "openblas_get_config", config);
  }

  decltype(cblas_sgemm)* sgemm = nullptr;
  decltype(openblas_get_corename)* corename = nullptr;
  decltype(openblas_get_config)* config = nullptr;
  std::string failure;  // empty: it is open

 private:
  template <class Function>
  void find(void* handle, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(handle, name));
    if (function == nullptr) failure = fmt::format("libopenblas.so.0 has no {}", name);
  }
};

const Library& library() {
  static const Library opened;
  return opened;
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
  const Library& blas = library();
  NB_CHECK(blas.failure.empty(), "[openblas] {}", blas.failure);
  if (c.size() == 0) return;
  // Bands of rows of C, cut by shape; a band keeps OpenBLAS's own blocking busy.
  constexpr std::int64_t kBand = 256;
  const std::int64_t bands = (c.rows + kBand - 1) / kBand;
  for_each_band(static_cast<std::size_t>(bands), [&](std::size_t band) {
    const std::int64_t row = static_cast<std::int64_t>(band) * kBand;
    const std::int64_t rows = std::min(kBand, c.rows - row);
    const float* from = ta == CblasNoTrans ? a.data + row * a.stride : a.data + row;
    blas.sgemm(CblasRowMajor, ta, tb, static_cast<int>(rows), static_cast<int>(c.cols),
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
  const Library& blas = library();
  if (!blas.failure.empty()) return {"", blas.failure};  // not installed, or no memory for it
  return {blas.corename(), blas.config()};
}

}  // namespace nb::kernels
