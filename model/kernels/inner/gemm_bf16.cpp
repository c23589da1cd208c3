// Whole products of bf16 pairs by VDPBF16PS. Per lane it computes fma(a0, b0, fma(a1, b1, c)), each
// fma rounded to nearest even whatever MXCSR says, reading and writing denormals as zero (Intel
// SDM; bf16_pair.hpp models it). The floor at 2^-56 keeps every product and sum a multiple of
// 2^-126, so that last property never shows.
#include "model/kernels/inner/functions.hpp"
#include "model/kernels/inner/gemm_pack.hpp"
#include "model/kernels/inner/gemm_tile.hpp"

#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16

namespace nb::kernels::inner::NB_LEVEL {
namespace {

NB_OP Bits floored(__m512i x) { return floored_pairs({x}); }
// 32 consecutive values as 16 pairs.
NB_OP Bits pairs(Floats low, Floats high) {
  return floored(reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.v, low.v)));
}
// Lane i: (low[i], high[i]) as a pair.
NB_OP Bits zipped(Floats low, Floats high) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return {_mm512_permutexvar_epi16(order, pairs(low, high).v)};
}

struct Pairs {
  static constexpr bool kConverts = true;
  // A sum of products of floored factors is a multiple of 2^-126, so no denormal, and no -0 where
  // it began at +0: without a NaN it rounds two vectors at a time.
  static constexpr bool kRoundsPairs = true;
  template <int kRows, int kVectors>
  NB_OP static bool has_nan(const Floats (&sums)[kRows][kVectors]) {
    __mmask16 nan = 0;
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; v += 2) {
        nan |= _mm512_cmp_ps_mask(sums[r][v].v, sums[r][v + 1].v, _CMP_UNORD_Q);
      }
    }
    return nan != 0;
  }
  NB_OP Floats operator()(Bits x, Bits y, Floats z) const {
    return {
        _mm512_dpbf16_ps(z.v, reinterpret_cast<__m512bh>(x.v), reinterpret_cast<__m512bh>(y.v))};
  }
  template <Converts kWhat>
  NB_OP Bits words(const char* from, std::int64_t second) const {
    const auto values = [](const char* at) { return load(reinterpret_cast<const float*>(at)); };
    if constexpr (kWhat == Converts::kAcross) return zipped(values(from), values(from + second));
    if constexpr (kWhat == Converts::kAlong) return pairs(values(from), values(from + 64));
    return floored(_mm512_loadu_si512(from));
  }
};

void tile(int rows, int vectors, const GemmTile& t) {
  tile_by_size<Pairs, false>(rows, vectors, t);
}
void tile_transposed(int rows, int vectors, const GemmTile& t) {
  tile_by_size<Pairs, true>(rows, vectors, t);
}
void spin(std::int64_t steps, float* values) { spin_loop(steps, values, Pairs()); }

struct AlongK {
  const float* src;
  std::int64_t stride, k_count;
  NB_OP Bits operator()(std::int64_t p, std::int64_t step) const {
    const std::int64_t k = 2 * step;
    const float* row = src + p * stride + k;
    if (k + 32 <= k_count) return pairs(load(row), load(row + 16));
    const int low = k < k_count ? lanes_left(k_count, k) : 0;
    const int high = k + 16 < k_count ? lanes_left(k_count, k + 16) : 0;
    return pairs(load_first(row, low), load_first(row + 16, high));
  }
};
struct AcrossK {
  const float* src;
  std::int64_t stride, k_count;
  NB_OP Bits operator()(std::int64_t p, int lanes, std::int64_t step) const {
    const std::int64_t k = 2 * step;
    const float* row = src + k * stride + p;
    if (k + 2 <= k_count) return zipped(load_lanes(row, lanes), load_lanes(row + stride, lanes));
    return zipped(load_first(row, k < k_count ? lanes : 0), all(0.0f));
  }
  // Whole vectors need no care: steps [0, whole_steps()), from `at` on, `next` apart.
  NB_OP std::int64_t whole_steps() const { return k_count / 2; }
  NB_OP const float* at(std::int64_t p, std::int64_t step) const {
    return src + 2 * step * stride + p;
  }
  NB_OP std::int64_t next() const { return 2 * stride; }
  NB_OP Bits whole(const float* from) const { return zipped(load(from), load(from + stride)); }
};

// The same of bf16.
struct Bf16AlongK {
  const std::uint16_t* src;
  std::int64_t stride, k_count;
  NB_OP Bits operator()(std::int64_t p, std::int64_t step) const {
    const std::int64_t k = 2 * step;
    const std::uint16_t* row = src + p * stride + k;
    if (k + 32 <= k_count) return floored(_mm512_loadu_si512(row));
    const std::int64_t left = k < k_count ? k_count - k : 0;
    const auto some = static_cast<__mmask32>((std::uint64_t{1} << left) - 1);
    return floored(_mm512_maskz_loadu_epi16(some, row));
  }
};
struct Bf16AcrossK {
  const std::uint16_t* src;
  std::int64_t stride, k_count;
  NB_OP static Bits pair(Bits low, Bits high) {  // each in the upper 16 bits
    return floored(_mm512_or_si512(_mm512_srli_epi32(low.v, 16), high.v));
  }
  NB_OP Bits operator()(std::int64_t p, int lanes, std::int64_t step) const {
    const std::int64_t k = 2 * step;
    const std::uint16_t* row = src + k * stride + p;
    if (k + 2 <= k_count) {
      return pair(load_upper_lanes(row, lanes), load_upper_lanes(row + stride, lanes));
    }
    return k < k_count ? pair(load_upper_lanes(row, lanes), all_bits(0u)) : all_bits(0u);
  }
  NB_OP std::int64_t whole_steps() const { return k_count / 2; }
  NB_OP const std::uint16_t* at(std::int64_t p, std::int64_t step) const {
    return src + 2 * step * stride + p;
  }
  NB_OP std::int64_t next() const { return 2 * stride; }
  NB_OP Bits whole(const std::uint16_t* from) const {
    const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return floored(_mm512_or_si512(_mm512_cvtepu16_epi32(low), load_upper(from + stride).v));
  }
};

void pack_rows(const float* src, std::int64_t stride, std::int64_t rows, std::int64_t k_count,
               std::int64_t steps, int /*rounding*/, bool /*swaps*/, std::uint32_t* dst) {
  rows_from_rows(rows, steps, false, dst, AlongK{src, stride, k_count});
}

void pack_transposed_rows(const float* src, std::int64_t stride, std::int64_t rows,
                          std::int64_t k_count, std::int64_t steps, int /*rounding*/,
                          bool /*swaps*/, std::uint32_t* dst) {
  rows_from_columns(rows, steps, false, dst, AcrossK{src, stride, k_count});
}

void pack_panels(const float* src, std::int64_t stride, bool from_rows, std::int64_t columns,
                 std::int64_t k_count, std::int64_t steps, int /*rounding*/, bool /*swaps*/,
                 std::int64_t panel_words, std::uint32_t* dst) {
  constexpr int kWidth = 16 * kGemmPanel;
  if (from_rows) {
    panels_from_rows(columns, kWidth, steps, false, panel_words, dst, AlongK{src, stride, k_count});
  } else {
    panels_from_columns(columns, kWidth, steps, false, panel_words, dst,
                        AcrossK{src, stride, k_count});
  }
  clear_columns(columns, kWidth, steps, panel_words, dst);
}

void pack_rows_of_bf16(const std::uint16_t* src, std::int64_t stride, std::int64_t rows,
                       std::int64_t k_count, std::int64_t steps, bool /*swaps*/,
                       std::uint32_t* dst) {
  rows_from_rows(rows, steps, false, dst, Bf16AlongK{src, stride, k_count});
}

void pack_transposed_rows_of_bf16(const std::uint16_t* src, std::int64_t stride, std::int64_t rows,
                                  std::int64_t k_count, std::int64_t steps, bool /*swaps*/,
                                  std::uint32_t* dst) {
  rows_from_columns(rows, steps, false, dst, Bf16AcrossK{src, stride, k_count});
}

void pack_panels_of_bf16(const std::uint16_t* src, std::int64_t stride, std::int64_t columns,
                         std::int64_t k_count, std::int64_t steps, bool /*swaps*/,
                         std::int64_t panel_words, std::uint32_t* dst) {
  constexpr int kWidth = 16 * kGemmPanel;
  panels_from_columns(columns, kWidth, steps, false, panel_words, dst,
                      Bf16AcrossK{src, stride, k_count});
  clear_columns(columns, kWidth, steps, panel_words, dst);
}

constexpr Gemm gemm_of_tiles() {
  Gemm gemm = {.rows = kGemmRows,
               .cols = 16 * kGemmPanel,
               .values_per_step = 2,
               .vectors = {},
               .burst = kBurst,
               .pack_rows = pack_rows,
               .pack_transposed_rows = pack_transposed_rows,
               .pack_panels = pack_panels,
               .pack_rows_of_bf16 = pack_rows_of_bf16,
               .pack_transposed_rows_of_bf16 = pack_transposed_rows_of_bf16,
               .pack_panels_of_bf16 = pack_panels_of_bf16,
               .tile = tile,
               .tile_transposed = tile_transposed,
               .converts = true,
               .spin = spin};
  for (int i = 0; i <= kGemmRows; ++i) gemm.vectors[i] = kGemmVectors[i];
  return gemm;
}

}  // namespace

constexpr Gemm kBf16Gemm = gemm_of_tiles();

}  // namespace nb::kernels::inner::NB_LEVEL

#endif
