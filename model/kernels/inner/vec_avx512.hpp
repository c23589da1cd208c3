// Sixteen fp32 lanes as one AVX-512 register.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "model/kernels/inner/level.hpp"

NB_LOCAL_BEGIN

struct Floats {
  __m512 v;
};
struct Bits {
  __m512i v;
};
struct Mask {
  __mmask16 v;
};

NB_OP __mmask16 lanes_below(int n) {
  return static_cast<__mmask16>(n >= 16 ? 0xffffu : (1u << n) - 1u);
}

NB_OP Floats load(const float* p) { return {_mm512_loadu_ps(p)}; }
NB_OP Floats load_first(const float* p, int n) {
  return {_mm512_maskz_loadu_ps(lanes_below(n), p)};
}
NB_OP void store(float* p, Floats x) { _mm512_storeu_ps(p, x.v); }
NB_OP void store_first(float* p, Floats x, int n) { _mm512_mask_storeu_ps(p, lanes_below(n), x.v); }
// even[0], odd[0], even[1], odd[1], …
NB_OP void store_zipped(float* p, Floats even, Floats odd) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
  _mm512_storeu_ps(p, _mm512_permutex2var_ps(even.v, low, odd.v));
  _mm512_storeu_ps(p + 16, _mm512_permutex2var_ps(even.v, high, odd.v));
}
NB_OP Floats all(float x) { return {_mm512_set1_ps(x)}; }
NB_OP Bits all_bits(std::uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }

// Sixteen values of two bytes: the upper 16 bits of the lanes.
NB_OP Bits load_upper(const std::uint16_t* p) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
  return {_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16)};
}
NB_OP void store_upper(std::uint16_t* p, Bits x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                      _mm512_cvtepi32_epi16(_mm512_srli_epi32(x.v, 16)));
}

NB_OP void store_upper(std::uint16_t* p, Bits x, Bits next) {
  const __m512i odd =
      _mm512_set_epi16(63, 61, 59, 57, 55, 53, 51, 49, 47, 45, 43, 41, 39, 37, 35, 33, 31, 29, 27,
                       25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
  _mm512_storeu_si512(p, _mm512_permutex2var_epi16(x.v, odd, next.v));
}

NB_OP Floats operator+(Floats x, Floats y) { return {_mm512_add_ps(x.v, y.v)}; }
NB_OP Floats operator-(Floats x, Floats y) { return {_mm512_sub_ps(x.v, y.v)}; }
NB_OP Floats operator*(Floats x, Floats y) { return {_mm512_mul_ps(x.v, y.v)}; }
NB_OP Floats operator/(Floats x, Floats y) { return {_mm512_div_ps(x.v, y.v)}; }
NB_OP Floats fma(Floats x, Floats y, Floats z) { return {_mm512_fmadd_ps(x.v, y.v, z.v)}; }
NB_OP Floats sqrt(Floats x) { return {_mm512_sqrt_ps(x.v)}; }

NB_OP Bits bits(Floats x) { return {_mm512_castps_si512(x.v)}; }
NB_OP Floats floats(Bits x) { return {_mm512_castsi512_ps(x.v)}; }
NB_OP Bits operator&(Bits x, Bits y) { return {_mm512_and_si512(x.v, y.v)}; }
NB_OP Bits operator|(Bits x, Bits y) { return {_mm512_or_si512(x.v, y.v)}; }
NB_OP Bits operator+(Bits x, Bits y) { return {_mm512_add_epi32(x.v, y.v)}; }
NB_OP Bits operator-(Bits x, Bits y) { return {_mm512_sub_epi32(x.v, y.v)}; }
template <int kCount>
NB_OP Bits shift_left(Bits x) {
  return {_mm512_slli_epi32(x.v, kCount)};
}
template <int kCount>
NB_OP Bits shift_right(Bits x) {
  return {_mm512_srli_epi32(x.v, kCount)};
}
template <int kCount>
NB_OP Bits shift_right_signed(Bits x) {
  return {_mm512_srai_epi32(x.v, kCount)};
}
NB_OP Bits to_int(Floats x) { return {_mm512_cvtps_epi32(x.v)}; }
NB_OP Floats to_float(Bits x) { return {_mm512_cvtepi32_ps(x.v)}; }

// Lanes 1, 0, 3, 2, …
NB_OP Bits swap_pairs(Bits x) { return {_mm512_shuffle_epi32(x.v, _MM_PERM_CDAB)}; }

NB_OP Mask operator<(Floats x, Floats y) { return {_mm512_cmp_ps_mask(x.v, y.v, _CMP_LT_OQ)}; }
NB_OP Mask operator<=(Floats x, Floats y) { return {_mm512_cmp_ps_mask(x.v, y.v, _CMP_LE_OQ)}; }
NB_OP Mask is_nan(Floats x) { return {_mm512_cmp_ps_mask(x.v, x.v, _CMP_UNORD_Q)}; }
NB_OP Mask first_lanes(int n) { return {lanes_below(n)}; }
NB_OP Floats select(Mask m, Floats yes, Floats no) {
  return {_mm512_mask_blend_ps(m.v, no.v, yes.v)};
}
NB_OP bool all_of(Mask m) { return m.v == 0xffff; }

#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
// bf16 numbers below 2^-56 become +0 (in a chain the sign of a zero factor cannot be seen); NaN
// stays.
NB_OP Bits floored_pairs(Bits x) {
  const __m512i magnitude = _mm512_and_si512(x.v, _mm512_set1_epi16(0x7fff));
  constexpr short kFloorBits = (127 - 56) << 7;  // the bits of 2^-56
  return {_mm512_maskz_mov_epi16(_mm512_cmpge_epu16_mask(magnitude, _mm512_set1_epi16(kFloorBits)),
                                 x.v)};
}
// Two vectors of bf16 numbers at a time; denormals become zero.
NB_OP void round_to_bf16(Floats& x, Floats& y) {
  const auto packed = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(y.v, x.v));
  const __m512i low = _mm512_set_epi16(15, 15, 14, 14, 13, 13, 12, 12, 11, 11, 10, 10, 9, 9, 8, 8,
                                       7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0);
  const __m512i high = _mm512_add_epi16(low, _mm512_set1_epi16(16));
  constexpr __mmask32 kUpper = 0xaaaaaaaau;  // of each lane's 16 bits
  x = {_mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(kUpper, low, packed))};
  y = {_mm512_castsi512_ps(_mm512_maskz_permutexvar_epi16(kUpper, high, packed))};
}
template <int kCount>
NB_OP bool has_nan_or_denormal(const Floats (&x)[kCount]) {
  constexpr int kClasses = 0x81 | 0x20;
  __mmask16 any = 0;
#pragma GCC unroll 8
  for (int c = 0; c < kCount; ++c) any |= _mm512_fpclass_ps_mask(x[c].v, kClasses);
  return any != 0;
}
#endif

NB_OP float tree_sum(Floats x) {
  const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x.v), _mm512_extractf32x8_ps(x.v, 1));
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

NB_OP void transpose(Bits (&x)[16]) {
  __m512i t[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4) {  // 2 × 2 blocks, then 4 × 4, within 128-bit lanes
    const __m512i a = _mm512_unpacklo_epi32(x[i].v, x[i + 1].v);
    const __m512i b = _mm512_unpackhi_epi32(x[i].v, x[i + 1].v);
    const __m512i c = _mm512_unpacklo_epi32(x[i + 2].v, x[i + 3].v);
    const __m512i d = _mm512_unpackhi_epi32(x[i + 2].v, x[i + 3].v);
    t[i] = _mm512_unpacklo_epi64(a, c);
    t[i + 1] = _mm512_unpackhi_epi64(a, c);
    t[i + 2] = _mm512_unpacklo_epi64(b, d);
    t[i + 3] = _mm512_unpackhi_epi64(b, d);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 4; ++i) {  // then the 128-bit lanes
    const __m512i a = _mm512_shuffle_i32x4(t[i], t[i + 4], 0x88);
    const __m512i b = _mm512_shuffle_i32x4(t[i], t[i + 4], 0xdd);
    const __m512i c = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0x88);
    const __m512i d = _mm512_shuffle_i32x4(t[i + 8], t[i + 12], 0xdd);
    x[i].v = _mm512_shuffle_i32x4(a, c, 0x88);
    x[i + 4].v = _mm512_shuffle_i32x4(b, d, 0x88);
    x[i + 8].v = _mm512_shuffle_i32x4(a, c, 0xdd);
    x[i + 12].v = _mm512_shuffle_i32x4(b, d, 0xdd);
  }
}

NB_LOCAL_END
