#include "model/device/cost_model.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr double kFlopPerNs = 1000.0;  // of one TFLOP/s
constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr std::int64_t kTileStep = 16;  // smallest tile side: one cube (Ascend) or one MMA (NVIDIA)

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

struct Tiling {
  TileCount count;
  double flops_per_core = 0;  // of the busiest core, padding to whole tiles included
};

Tiling tile(const Kernel& kernel, const MatrixUnitProfile& matrix, std::int64_t tile_m,
            std::int64_t tile_n) {
  const std::int64_t step = matrix.tile_k.whole();
  Tiling tiling;
  tiling.count.tiles = kernel.batch * ceil_div(kernel.m, tile_m) * ceil_div(kernel.n, tile_n);
  tiling.count.waves = ceil_div(tiling.count.tiles, matrix.cores.whole());
  tiling.flops_per_core = static_cast<double>(tiling.count.waves) * 2.0 *
                          static_cast<double>(tile_m) * static_cast<double>(tile_n) *
                          static_cast<double>(ceil_div(kernel.k, step) * step);
  return tiling;
}

// Libraries choose among tile shapes; halves of the profile's, down to a quarter, fill the cores
// when a product is small. The one whose busiest core has least to do; larger tiles win ties.
Tiling best_tiling(const Kernel& kernel, const MatrixUnitProfile& matrix) {
  const std::int64_t full_m = matrix.tile_m.whole(), full_n = matrix.tile_n.whole();
  Tiling best = tile(kernel, matrix, full_m, full_n);
  for (const std::int64_t m : {full_m, full_m / 2, full_m / 4}) {
    for (const std::int64_t n : {full_n, full_n / 2, full_n / 4}) {
      if (m < kTileStep || n < kTileStep) continue;
      const Tiling candidate = tile(kernel, matrix, m, n);
      if (candidate.flops_per_core < best.flops_per_core) best = candidate;
    }
  }
  return best;
}

double peak_flop_per_ns(const Kernel& kernel, const DeviceProfile& profile) {
  const std::optional<Quantity>& peak = profile.matrix.peak.of(kernel.dtype);
  NB_CHECK(peak.has_value(), "[cost] {}: the matrix unit has no {}", profile.name(),
           name(kernel.dtype));
  return peak->value * kFlopPerNs;
}

// Time of the busiest core: cores are equal shares of the peak.
double matrix_time(const Kernel& kernel, const DeviceProfile& profile) {
  const double core_rate = peak_flop_per_ns(kernel, profile) / profile.matrix.cores.value;
  return best_tiling(kernel, profile.matrix).flops_per_core / core_rate /
         profile.matrix.efficiency.value;
}

// Fused attention works on blocks of 128 queries of one head; too few of them leave cores idle.
double attention_time(const Kernel& kernel, const DeviceProfile& profile) {
  constexpr std::int64_t kBlock = 128;
  const double efficiency = kernel.backward ? profile.matrix.attention_backward_efficiency.value
                                            : profile.matrix.attention_efficiency.value;
  const std::int64_t blocks = kernel.batch * ceil_div(kernel.m, kBlock);
  const std::int64_t cores = profile.matrix.cores.whole();
  const double filled =
      static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, cores) * cores);
  return kernel.flops / peak_flop_per_ns(kernel, profile) / efficiency / filled;
}

// A kernel whose bytes fit the resident share of the last-level cache finds them there, since the
// kernel before it wrote them; larger ones stream from main memory. GB/s is byte/ns.
double memory_time(const Kernel& kernel, const DeviceProfile& profile) {
  const double moved =
      static_cast<double>(kernel.read_bytes) + static_cast<double>(kernel.write_bytes);
  const MemoryProfile& memory = profile.memory;
  const double resident = memory.cache.capacity.value * kGiB * memory.cache_resident.value;
  const MemoryLevelProfile& level = moved <= resident ? memory.cache : memory.main;
  return moved / (level.bandwidth.value * level.efficiency.value);
}

KernelCost longest(double compute_ns, double memory_ns, double launch_ns) {
  KernelCost cost;
  const double busy = std::max(compute_ns, memory_ns);
  cost.time_ns = round_ns(launch_ns + busy);
  cost.limiter = launch_ns > busy         ? Limiter::kLaunch
                 : memory_ns > compute_ns ? Limiter::kMemory
                                          : Limiter::kCompute;
  return cost;
}

}  // namespace

std::int64_t round_ns(double time_ns) {
  if (!(time_ns > 0)) return 0;
  return std::llround(time_ns);
}

TileCount count_tiles(const Kernel& kernel, const MatrixUnitProfile& matrix) {
  return best_tiling(kernel, matrix).count;
}

KernelCost kernel_cost(const Kernel& kernel, const DeviceProfile& profile) {
  const LaunchProfile& launch = profile.launch;
  switch (kernel.unit) {
    case KernelUnit::kMatrix:
      return longest(matrix_time(kernel, profile), memory_time(kernel, profile),
                     launch.matrix_kernel.value);
    case KernelUnit::kAttention:
      return longest(attention_time(kernel, profile), memory_time(kernel, profile),
                     launch.matrix_kernel.value);
    case KernelUnit::kVector:
      return longest(kernel.flops / (profile.vector.peak.value * kFlopPerNs),
                     memory_time(kernel, profile), launch.vector_kernel.value);
    case KernelUnit::kHostLink:
      return {round_ns(profile.host_link.latency.value +
                       static_cast<double>(kernel.read_bytes) / profile.host_link.bandwidth.value),
              Limiter::kLink};
    case KernelUnit::kLink:
      break;
  }
  NB_CHECK(false, "[cost] {}: collectives are timed by model/collectives", kernel.name);
}

}  // namespace nb
