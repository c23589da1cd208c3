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
  std::int64_t tile_m = 0, tile_n = 0;
  double flops_per_core = 0;  // of the busiest core, padding to whole tiles included
};

Tiling tile(const Kernel& kernel, const MatrixUnitProfile& matrix, std::int64_t tile_m,
            std::int64_t tile_n) {
  const std::int64_t step = matrix.tile_k.whole();
  Tiling tiling;
  tiling.tile_m = tile_m;
  tiling.tile_n = tile_n;
  const std::int64_t tiles = kernel.batch * ceil_div(kernel.m, tile_m) * ceil_div(kernel.n, tile_n);
  const std::int64_t waves = ceil_div(tiles, matrix.cores.whole());  // rounds of all cores
  tiling.flops_per_core = static_cast<double>(waves) * 2.0 * static_cast<double>(tile_m) *
                          static_cast<double>(tile_n) *
                          static_cast<double>(ceil_div(kernel.k, step) * step);
  return tiling;
}

double peak_flop_per_ns(const Kernel& kernel, const DeviceProfile& profile) {
  const std::optional<Quantity>& peak = profile.matrix.peak.of(kernel.dtype);
  NB_CHECK(peak.has_value(), "[cost] {}: the matrix unit has no {}", profile.name(),
           name(kernel.dtype));
  return peak->value * kFlopPerNs;
}

// The penalty was measured where rows are 12287 halves, no multiple of the 32 bytes of a block
// (cannmirror/asc-devkit best_practices). Whole steps show none where rows are multiples of 32 but
// not of the 512 bytes of a burst: with it the training steps of model/device/calibration were
// fitted to 9.5 %, without to 4.8 %, and worst where an inner width is such (13696, 13824 / 8).
bool is_unaligned(const Kernel& kernel) {
  constexpr std::int64_t kBurstBytes = 32;
  const auto width = static_cast<std::int64_t>(storage_bytes(kernel.dtype));
  return kernel.k * width % kBurstBytes != 0 || kernel.n * width % kBurstBytes != 0;
}

// Each operand comes through the last-level cache once for every tile of the other.
double cache_bytes(const Kernel& kernel, const Tiling& tiling) {
  const auto left = static_cast<double>(kernel.m * ceil_div(kernel.n, tiling.tile_n));
  const auto right = static_cast<double>(kernel.n * ceil_div(kernel.m, tiling.tile_m));
  return static_cast<double>(kernel.batch * kernel.k) *
         static_cast<double>(storage_bytes(kernel.dtype)) * (left + right);
}

// Tiles that run together walk along K side by side, so what they share is read once; an operand
// that fits half of the cache stays for the tiles behind them, others are read again for each group
// of tiles. Of the shapes that a group can have, the one with least to read; bytes.
double main_bytes(const Kernel& kernel, const DeviceProfile& profile, const Tiling& tiling) {
  const auto width = static_cast<double>(storage_bytes(kernel.dtype));
  const double left = width * static_cast<double>(kernel.m) * static_cast<double>(kernel.k);
  const double right = width * static_cast<double>(kernel.k) * static_cast<double>(kernel.n);
  const double stays = profile.memory.cache.capacity.value * kGiB / 2;  // the rest passes through
  const double compulsory =
      static_cast<double>(kernel.read_bytes) + static_cast<double>(kernel.write_bytes);
  if (left <= stays && right <= stays) return compulsory;
  const std::int64_t cores = profile.matrix.cores.whole();
  const std::int64_t down = ceil_div(kernel.m, tiling.tile_m);
  const std::int64_t across = ceil_div(kernel.n, tiling.tile_n);
  double again = -1;
  for (std::int64_t columns = 1; columns <= cores; columns *= 2) {
    const std::int64_t rows = cores / columns;
    const auto of_left = static_cast<double>(ceil_div(across, columns) - 1);
    const auto of_right = static_cast<double>(ceil_div(down, rows) - 1);
    const double bytes =
        (left <= stays ? 0 : left * of_left) + (right <= stays ? 0 : right * of_right);
    if (again < 0 || bytes < again) again = bytes;
  }
  return compulsory + static_cast<double>(kernel.batch) * again;
}

struct ProductTime {
  double cores_ns = 0, load_ns = 0;
};

// Libraries choose among tile shapes; halves of the profile's, down to a quarter, fill the cores
// when a product is small. The one that is done first; larger tiles win ties.
struct ChosenTiling {
  Tiling tiling;
  ProductTime time;
};
// The cores' own time, and what it takes to bring the operands to them: the cache's bytes at its
// rate times the penalty where the profile models it, main memory's at its own.
ChosenTiling best_tiling(const Kernel& kernel, const DeviceProfile& profile,
                         double core_flop_per_ns) {
  const MatrixUnitProfile& matrix = profile.matrix;
  const MemoryProfile& memory = profile.memory;
  const double converted =
      kernel.is_nz ? std::min(1.0, matrix.load_penalty.value) : matrix.load_penalty.value;
  const double penalty = converted * (is_unaligned(kernel) ? matrix.unaligned_load.value : 1);
  const double load_rate = memory.cache.bandwidth.value * memory.cache.efficiency.value;
  const double moved =
      static_cast<double>(kernel.read_bytes) + static_cast<double>(kernel.write_bytes);
  const double resident = memory.cache.capacity.value * kGiB * memory.cache_resident.value;
  const MemoryLevelProfile& level = moved <= resident ? memory.cache : memory.main;
  const double main_rate = level.bandwidth.value * level.efficiency.value;
  const auto busy = [](const ChosenTiling& t) { return std::max(t.time.cores_ns, t.time.load_ns); };
  ChosenTiling best;
  double best_ns = -1;
  const std::int64_t full_m = matrix.tile_m.whole(), full_n = matrix.tile_n.whole();
  for (const std::int64_t m : {full_m, full_m / 2, full_m / 4}) {
    for (const std::int64_t n : {full_n, full_n / 2, full_n / 4}) {
      const bool is_full = m == full_m && n == full_n;
      if (!is_full && (m < kTileStep || n < kTileStep)) continue;
      ChosenTiling one{tile(kernel, matrix, m, n), {}};
      one.time.cores_ns = one.tiling.flops_per_core / core_flop_per_ns;
      if (penalty > 0) one.time.load_ns = penalty * cache_bytes(kernel, one.tiling) / load_rate;
      if (best_ns >= 0 && busy(one) >= best_ns) continue;
      // Operands are converted on their way from main memory, too; the result is not.
      const double written = static_cast<double>(kernel.write_bytes);
      const double read = main_bytes(kernel, profile, one.tiling) - written;
      one.time.load_ns =
          std::max(one.time.load_ns, (std::max(1.0, penalty) * read + written) / main_rate);
      if (best_ns >= 0 && busy(one) >= best_ns) continue;
      best = one;
      best_ns = busy(one);
    }
  }
  return best;
}

// Cores are equal shares of the peak.
double core_rate(const Kernel& kernel, const DeviceProfile& profile) {
  return peak_flop_per_ns(kernel, profile) / profile.matrix.cores.value *
         (profile.matrix.sustained() * profile.matrix.efficiency.value);
}

// Of a causal square, whole tiles of keys are computed where the last is only half seen: work over
// visible work.
double masked_work(const Kernel& kernel, std::int64_t block, std::int64_t key_tile) {
  if (key_tile <= 0 || !kernel.is_causal_square) return 1;
  double computed = 0, visible = 0;
  for (std::int64_t first = 0; first < kernel.m; first += block) {
    const std::int64_t rows = std::min(block, kernel.m - first), last = first + rows;
    computed += static_cast<double>(rows * std::min(ceil_div(last, key_tile) * key_tile, kernel.k));
    visible += static_cast<double>(rows * first) + static_cast<double>(rows * (rows + 1)) / 2;
  }
  return computed / visible;
}

constexpr std::int64_t kBlock = 128;  // queries that a core takes at once in fused attention

// Operations a byte that fused attention moves through the last-level cache, for one score. Where
// matrix and vector cores share no nearer memory, `exchange` bytes are an fp32 score and a 16-bit
// weight, each written and read. Beside them, for each element of the head's width: a key's and a
// value's 16 bits serve 128 queries; an fp32 partial result goes and comes for every 512 keys.
// Backward exchanges two such pairs, one of whose weights two products read; queries and output
// gradients take the place of keys and values; the key's and the value's gradients are summed
// beside the query's, which is only added to.
double intensity(const Kernel& kernel, double exchange) {
  constexpr double kOperands = 2.0 * 2 / 128, kPartial = 4.0 / 512;
  const auto width = static_cast<double>(kernel.n);
  if (kernel.backward)
    return 10 * width / (2 * exchange + 2 + width * (kOperands + 2 * kPartial + 4 * kPartial));
  return 4 * width / (exchange + width * (kOperands + 2 * kPartial));
}

// Of the peak: what forward reaches with heads 128 wide, as much more or less as a kernel does for
// what it moves, up to what products reach.
double attention_share(const Kernel& kernel, const MatrixUnitProfile& matrix) {
  if (kernel.backward && matrix.attention_backward_efficiency)
    return matrix.attention_backward_efficiency->value;
  const double forward = matrix.attention_efficiency.value;
  const double exchange = matrix.attention_exchange.value;
  if (exchange <= 0 || kernel.n <= 0) return forward;
  Kernel usual;
  usual.n = 128;
  return std::min(forward * intensity(kernel, exchange) / intensity(usual, exchange),
                  std::max(forward, matrix.sustained() * matrix.efficiency.value));
}

// Fused attention works on blocks of queries of one head; too few of them leave cores idle. Each
// block begins with nothing to overlap: its first keys go through scores, weights and results one
// after the other.
double attention_time(const Kernel& kernel, const DeviceProfile& profile) {
  const MatrixUnitProfile& matrix = profile.matrix;
  const std::int64_t blocks = kernel.batch * ceil_div(kernel.m, kBlock);
  const std::int64_t cores = matrix.cores.whole();
  const double filled =
      static_cast<double>(blocks) / static_cast<double>(ceil_div(blocks, cores) * cores);
  const double of_one_key = (kernel.backward ? 10.0 : 4.0) * static_cast<double>(kernel.batch) *
                            static_cast<double>(kernel.m) * static_cast<double>(kernel.n);
  const double work =
      kernel.flops * masked_work(kernel, kBlock, matrix.attention_key_tile.whole()) +
      of_one_key * matrix.attention_ramp.value;
  return work / peak_flop_per_ns(kernel, profile) / attention_share(kernel, matrix) / filled;
}

// Bursts shorter than what fills the bus: a share that grows with their length from that of 128
// bytes (cannmirror/asc-devkit GM to UB read: 0.55 TB/s with 128 bytes, 1.49 TB/s with 2 KB).
double burst_share(const Kernel& kernel, const MemoryProfile& memory) {
  if (kernel.burst_bytes <= 0) return 1;
  return std::min(1.0, memory.short_burst.value * static_cast<double>(kernel.burst_bytes) / 128);
}

// A kernel whose bytes fit the resident share of the last-level cache finds them there, since the
// kernel before it wrote them; larger ones stream from main memory. GB/s is byte/ns.
double memory_time(const Kernel& kernel, const DeviceProfile& profile) {
  const auto read = static_cast<double>(kernel.read_bytes);
  const auto written = static_cast<double>(kernel.write_bytes);
  const MemoryProfile& memory = profile.memory;
  const double capacity = memory.cache.capacity.value * kGiB;
  const double cache_rate = memory.cache.bandwidth.value * memory.cache.efficiency.value;
  double main_rate = memory.main.bandwidth.value * memory.main.efficiency.value;
  if (kernel.is_unaligned && memory.unaligned) main_rate *= memory.unaligned->value;
  const double share = burst_share(kernel, memory);
  if (read + written <= capacity * memory.cache_resident.value)
    return (read + written) / (cache_rate * share);
  if (kernel.reads_uncached && written <= capacity)  // beside each other
    return std::max(read / (main_rate * share), written / cache_rate);
  if (kernel.cached_share > 0)
    return read * kernel.cached_share / (cache_rate * share) +
           (read * (1 - kernel.cached_share) + written) / (main_rate * share);
  return (read + written) / (main_rate * share);
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

std::int64_t operand_load_ns(const Kernel& kernel, const DeviceProfile& profile) {
  constexpr std::int64_t kConvertedRow = 128;  // of base tiles of 64 halves
  const MatrixUnitProfile& matrix = profile.matrix;
  const MemoryLevelProfile& main = profile.memory.main;
  double slower = 1;
  if (kernel.burst_bytes > 0 && kernel.burst_bytes <= kConvertedRow)
    slower *= std::max(1.0, matrix.load_penalty.value);
  if (kernel.is_unaligned) slower *= std::max(1.0, matrix.unaligned_load.value);
  return round_ns(profile.launch.matrix_kernel.value +
                  slower * static_cast<double>(kernel.read_bytes) /
                      (main.bandwidth.value * main.efficiency.value));
}

std::int64_t round_ns(double time_ns) {
  if (!(time_ns > 0)) return 0;
  return std::llround(time_ns);
}

KernelCost kernel_cost(const Kernel& kernel, const DeviceProfile& profile) {
  const LaunchProfile& launch = profile.launch;
  switch (kernel.unit) {
    case KernelUnit::kMatrix: {
      const ProductTime time = best_tiling(kernel, profile, core_rate(kernel, profile)).time;
      return longest(time.cores_ns, time.load_ns, launch.matrix_kernel.value);
    }
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
