// bf16 pair panels for VDPBF16PS. Per lane it computes fma(a0, b0, fma(a1, b1, c)), each fma
// rounded to nearest even whatever MXCSR says, reading and writing denormals as zero (Intel SDM;
// bf16_pair.hpp models it). The floor at 2^-56 keeps every product and sum a multiple of 2^-126, so
// that last property never shows.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/product.hpp"

#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16

namespace nb::kernels::inner::NB_LEVEL {
namespace {

constexpr int kRows = 12, kCols = 32;

// Values that round below 2^-56 become +0 (in a chain the sign of a zero factor cannot be seen);
// NaN stays. The smallest magnitude that rounds to 2^-56 is the tie 2^-56 - 2^-65.
NB_OP __m512 floored(Floats x) {
  const __m512 least = _mm512_set1_ps(0x1p-56f - 0x1p-65f);
  return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(_mm512_abs_ps(x.v), least, _CMP_NLT_UQ), x.v);
}

// 32 consecutive values as 16 pairs.
NB_OP Bits pairs(Floats low, Floats high) {
  return {reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(floored(high), floored(low)))};
}

// Lane i: (low[i], high[i]) as a pair.
NB_OP Bits zipped(Floats low, Floats high) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return {_mm512_permutexvar_epi16(order, pairs(low, high).v)};
}

void pack(const float* src, std::int64_t stride_p, std::int64_t stride_k, std::int64_t p_count,
          int width, std::int64_t k_count, std::int64_t steps, int /*rounding*/,
          bool /*swaps_pairs*/, std::uint32_t* dst) {
  if (stride_k == 1) {
    pack_turned(p_count, width, steps, 0, dst, [&](std::int64_t p, std::int64_t step) {
      const std::int64_t k = 2 * step;
      const float* row = src + p * stride_p + k;
      if (k + 32 <= k_count) return pairs(load(row), load(row + 16));
      const int low = k < k_count ? lanes_left(k_count, k) : 0;
      const int high = k + 16 < k_count ? lanes_left(k_count, k + 16) : 0;
      return pairs(load_first(row, low), load_first(row + 16, high));
    });
  } else {
    pack_straight(p_count, width, steps, 0, dst, [&](std::int64_t p, int lanes, std::int64_t step) {
      const std::int64_t k = 2 * step;
      const float* row = src + k * stride_k + p;
      return zipped(load_first(row, k < k_count ? lanes : 0),
                    load_first(row + stride_k, k + 1 < k_count ? lanes : 0));
    });
  }
}

void tile(int rows_used, int vectors, std::int64_t steps, const std::uint32_t* a,
          const std::uint32_t* b, float* c, std::int64_t c_stride, int mode) {
  chain_by_chain(kRows, kCols, rows_used, vectors, steps, a, b, c, c_stride, mode,
                 [](Bits x, Bits y, Floats z) -> Floats {
                   return {_mm512_dpbf16_ps(z.v, reinterpret_cast<__m512bh>(x.v),
                                            reinterpret_cast<__m512bh>(y.v))};
                 });
}

void spin(std::int64_t steps, float* values) {
  spin_loop<kRows, kCols / 16>(steps, values, [](Bits x, Bits y, Floats z) -> Floats {
    return {
        _mm512_dpbf16_ps(z.v, reinterpret_cast<__m512bh>(x.v), reinterpret_cast<__m512bh>(y.v))};
  });
}

}  // namespace

constexpr Product kBf16Product = {
    .rows = kRows, .cols = kCols, .values_per_step = 2, .pack = pack, .tile = tile, .spin = spin};

}  // namespace nb::kernels::inner::NB_LEVEL

#endif
