// fp32 panels and register tiles. bf16 operands use them too where the host has no VDPBF16PS:
// packing does the rounding, the floor and the pair order, so the tile is one ascending chain for
// every format.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/product.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

#if NB_LEVEL_ID == NB_LEVEL_SCALAR
constexpr int kRows = 4, kCols = 16;
#elif NB_LEVEL_ID == NB_LEVEL_AVX2 || NB_LEVEL_ID == NB_LEVEL_NEON
constexpr int kRows = 6, kCols = 16;
#else
constexpr int kRows = 12, kCols = 32;
#endif

void pack(const float* src, std::int64_t stride_p, std::int64_t stride_k, std::int64_t p_count,
          int width, std::int64_t k_count, std::int64_t steps, int rounding, bool swaps_pairs,
          std::uint32_t* dst) {
  const std::int64_t swap = swaps_pairs ? 1 : 0;
  with_operand_rounding(rounding, [&](auto r) {
    constexpr int kRounding = decltype(r)::value;
    if (stride_k == 1) {
      pack_turned(p_count, width, steps, swap, dst, [&](std::int64_t p, std::int64_t k) {
        const int lanes = k < k_count ? lanes_left(k_count, k) : 0;
        return bits(rounded<kRounding>(load_lanes(src + p * stride_p + k, lanes)));
      });
    } else {
      pack_straight(
          p_count, width, steps, swap, dst, [&](std::int64_t p, int lanes, std::int64_t k) {
            return k < k_count ? bits(rounded<kRounding>(load_lanes(src + k * stride_k + p, lanes)))
                               : all_bits(0u);
          });
    }
  });
}

void tile(int rows_used, int vectors, std::int64_t steps, const std::uint32_t* a,
          const std::uint32_t* b, float* c, std::int64_t c_stride, int mode) {
  chain_by_chain(kRows, kCols, rows_used, vectors, steps, a, b, c, c_stride, mode,
                 [](Bits x, Bits y, Floats z) { return fma(floats(x), floats(y), z); });
}

void spin(std::int64_t steps, float* values) {
  spin_loop<kRows, kCols / 16>(
      steps, values, [](Bits x, Bits y, Floats z) { return fma(floats(x), floats(y), z); });
}

}  // namespace

constexpr Product kFp32Product = {
    .rows = kRows, .cols = kCols, .values_per_step = 1, .pack = pack, .tile = tile, .spin = spin};

#if NB_LEVEL_ID != NB_LEVEL_AVX512BF16
constexpr Product kBf16Product = kFp32Product;
#endif

}  // namespace nb::kernels::inner::NB_LEVEL
