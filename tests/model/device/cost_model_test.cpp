#include "model/device/cost_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "harness/base/check.hpp"
#include "tests/model/device/sample_ops.hpp"

namespace nb {
namespace {

using test::profile;

Kernel product(std::int64_t m, std::int64_t n, std::int64_t k, DType dtype = DType::kBf16,
               std::int64_t batch = 1) {
  Kernel kernel;
  kernel.name = "mm";
  kernel.unit = KernelUnit::kMatrix;
  kernel.batch = batch;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.dtype = dtype;
  kernel.flops = 2.0 * static_cast<double>(batch * m * n * k);
  kernel.read_bytes = static_cast<std::uint64_t>(batch * (m * k + k * n)) * 2;
  kernel.write_bytes = static_cast<std::uint64_t>(batch * m * n) * 2;
  return kernel;
}

Kernel stream(std::uint64_t read, std::uint64_t write) {
  Kernel kernel;
  kernel.name = "add";
  kernel.read_bytes = read;
  kernel.write_bytes = write;
  return kernel;
}

TEST(CostModel, ProductOnTinyCostsExactlyItsFlops) {
  const DeviceProfile tiny = profile("tiny");
  for (const auto& [m, n, k] : {std::array{1, 1, 1}, {3, 5, 7}, {64, 32, 128}}) {
    EXPECT_EQ(kernel_cost(product(m, n, k), tiny).time_ns, 2 * m * n * k);
  }
  EXPECT_EQ(kernel_cost(product(3, 5, 7, DType::kBf16, 4), tiny).time_ns, 4 * 2 * 3 * 5 * 7);
}

TEST(CostModel, StreamOfBytesCostsBytesOverBandwidth) {
  DeviceProfile p = profile("tiny");
  p.memory.main.bandwidth.value = 2;  // byte/ns
  p.memory.main.efficiency.value = 0.5;
  p.launch.vector_kernel.value = 100;
  const KernelCost cost = kernel_cost(stream(3000, 1000), p);
  EXPECT_EQ(cost.time_ns, 100 + 4000);
  EXPECT_EQ(cost.limiter, Limiter::kMemory);
}

TEST(CostModel, SmallStreamsRunAtTheRateOfTheCache) {
  DeviceProfile p = profile("tiny");
  p.memory.main.bandwidth.value = 1;
  p.memory.cache.bandwidth.value = 4;
  p.memory.cache.capacity.value = 4096.0 / 1073741824.0;
  p.memory.cache_resident.value = 0.5;
  EXPECT_EQ(kernel_cost(stream(1024, 1024), p).time_ns, 512);
  EXPECT_EQ(kernel_cost(stream(1024, 1028), p).time_ns, 2052);
}

TEST(CostModel, LaunchLimitsAKernelThatIsShorterThanItsLaunch) {
  DeviceProfile p = profile("tiny");
  p.launch.matrix_kernel.value = 1000;
  const KernelCost cost = kernel_cost(product(2, 2, 2), p);
  EXPECT_EQ(cost.time_ns, 1016);
  EXPECT_EQ(cost.limiter, Limiter::kLaunch);
}

// CATLASS, tail waves: time ∝ ceil(tiles / cores). 20 cores, tiles of 128 × 256.
TEST(CostModel, TimeGrowsByWholeWaves) {
  const DeviceProfile p = profile("ascend_910b3");
  const TileCount full = count_tiles(product(128 * 20, 256, 4096), p.matrix);
  EXPECT_EQ(full.tiles, 20);
  EXPECT_EQ(full.waves, 1);
  const auto time = [&](std::int64_t tiles) {
    return kernel_cost(product(128 * tiles, 256, 65536), p).time_ns -
           p.launch.matrix_kernel.whole();
  };
  EXPECT_EQ(time(20), time(19));
  EXPECT_GT(time(21), time(20));
  EXPECT_NEAR(static_cast<double>(time(40)), 2.0 * static_cast<double>(time(20)), 2);
}

TEST(CostModel, RaggedShapesPayForWholeTiles) {
  const DeviceProfile p = profile("h100_sxm");
  EXPECT_EQ(kernel_cost(product(4096, 4096, 4033), p).time_ns,
            kernel_cost(product(4096, 4096, 4096), p).time_ns);
}

// PTO-ISA GEMM on 24 cores at 1.85 GHz: 38.8, 206.7, 1506 µs (fp16 in). The project's gate for GEMM
// on A2 is 8 %.
TEST(CostModel, AscendProductsAreWithin8PercentOfTheMeasuredOnes) {
  DeviceProfile p = profile("ascend_910b3");
  p.matrix.cores.value = 24;
  p.matrix.peak.fp16->value = 363.7;
  for (const auto& [n, measured_us] : {std::pair{1536, 38.8}, {3072, 206.7}, {6144, 1506.0}}) {
    const double modelled_us =
        static_cast<double>(kernel_cost(product(n, n, n, DType::kFp16), p).time_ns) / 1000;
    EXPECT_LT(std::fabs(modelled_us / measured_us - 1), 0.08) << n << ": " << modelled_us;
  }
}

// asc-devkit: reading 302 MB from HBM takes 215.8 µs (wall); 8192² fp16 add (403 MB) 264 to 307 µs
// before cache tricks.
TEST(CostModel, AscendStreamsAreWithin25PercentOfTheMeasuredOnes) {
  const DeviceProfile p = profile("ascend_910b3");
  const auto error = [&](std::uint64_t read, std::uint64_t write, double measured_us) {
    const auto modelled = static_cast<double>(kernel_cost(stream(read, write), p).time_ns) / 1000;
    return std::fabs(modelled / measured_us - 1);
  };
  EXPECT_LT(error(301990000, 0, 215.8), 0.25);
  EXPECT_LT(error(268435456, 134217728, 264.0), 0.25);
}

TEST(CostModel, ATypeWithoutMatrixUnitIsNamed) {
  const DeviceProfile p = profile("cpu_ref");
  try {
    kernel_cost(product(8, 8, 8, DType::kBf16), p);
    FAIL();
  } catch (const CheckFailure& e) {
    EXPECT_NE(std::string(e.what()).find("cpu_ref: the matrix unit has no bf16"),
              std::string::npos);
  }
}

TEST(CostModel, RoundsToTheNearestNanosecond) {
  EXPECT_EQ(round_ns(0.49), 0);
  EXPECT_EQ(round_ns(0.5), 1);
  EXPECT_EQ(round_ns(1e15 + 0.4), 1000000000000000);
  EXPECT_EQ(round_ns(-3), 0);
}

}  // namespace
}  // namespace nb
