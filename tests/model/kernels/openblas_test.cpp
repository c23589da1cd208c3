#include "model/kernels/openblas.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string_view>

#include "model/kernels/matmul.hpp"
#include "model/kernels/reference/matmul.hpp"
#include "tests/model/kernels/kernel_case.hpp"

namespace nb::kernels {
namespace {

using test::Array;

// Any order of summation errs by at most about k·eps·Σ|a·b|; products of ordinary values are
// below 9.
void expect_near(const Array& actual, const Array& expected, std::int64_t k) {
  const float tolerance = static_cast<float>(k * k) * 9.0f * std::numeric_limits<float>::epsilon();
  for (std::int64_t i = 0; i < expected.view().rows; ++i) {
    for (std::int64_t j = 0; j < expected.view().cols; ++j) {
      ASSERT_NEAR(actual.view().row(i)[j], expected.view().row(i)[j], tolerance) << i << "," << j;
    }
  }
}

TEST(OpenBlas, AgreesWithTheDefinitionWithinRounding) {
  const MatmulPolicy blas{
      .inputs = DType::kFp32, .accumulation = Accumulation::kHostBlas, .output = DType::kFp32};
  const MatmulPolicy chain{.inputs = DType::kFp32, .output = DType::kFp32};
  for (const std::int64_t m : {1, 33, 300}) {
    const std::int64_t n = 21, k = 50;
    for (const bool accumulate : {false, true}) {
      const Array start = test::random_array(m, n, 9);
      Array nt = start, nn = start, tn = start, expected = start;
      const Array a = test::random_array(m, k, 1), at = test::random_array(k, m, 1);
      const Array b = test::random_array(n, k, 2), bt = test::random_array(k, n, 2);
      matmul_nt(a.view(), b.view(), nt.view(), blas, accumulate);
      reference::matmul_nt(a.view(), b.view(), expected.view(), chain, accumulate);
      expect_near(nt, expected, k);
      expected = start;
      matmul_nn(a.view(), bt.view(), nn.view(), blas, accumulate);
      reference::matmul_nn(a.view(), bt.view(), expected.view(), chain, accumulate);
      expect_near(nn, expected, k);
      expected = start;
      matmul_tn(at.view(), bt.view(), tn.view(), blas, accumulate);
      reference::matmul_tn(at.view(), bt.view(), expected.view(), chain, accumulate);
      expect_near(tn, expected, k);
    }
  }
}

TEST(OpenBlas, NamesItsKernelFamilyAndBuild) {
  const OpenBlasInfo info = openblas_info();
  EXPECT_FALSE(info.core.empty());
  EXPECT_NE(info.config.find("OpenBLAS"), std::string::npos);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512bw")) {
    EXPECT_EQ(info.core, "SkylakeX");
  }
#endif
}

// Children inherit the environment. In a process of its own: the library is opened once.
TEST(OpenBlasDeathTest, LeavesTheEnvironmentAsItWas) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        ::setenv("OPENBLAS_CORETYPE", "Prescott", 1);
        ::unsetenv("OPENBLAS_NUM_THREADS");
        const bool is_open = !openblas_info().core.empty();
        const char* core = std::getenv("OPENBLAS_CORETYPE");
        const bool same = core != nullptr && std::string_view(core) == "Prescott" &&
                          std::getenv("OPENBLAS_NUM_THREADS") == nullptr;
        std::exit(is_open && same ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace nb::kernels
