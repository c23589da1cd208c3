// Sixteen fp32 lanes as two AVX2 registers.
#pragma once

#include <immintrin.h>

#include <cstdint>

#include "model/kernels/inner/level.hpp"

NB_LOCAL_BEGIN

struct Floats {
  __m256 a, b;
};
struct Bits {
  __m256i a, b;
};
struct Mask {
  __m256 a, b;  // all ones or all zeros in a lane
};

NB_OP __m256i lanes_below(int n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

NB_OP Floats load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
NB_OP Floats load_first(const float* p, int n) {
  return {_mm256_maskload_ps(p, lanes_below(n)), _mm256_maskload_ps(p + 8, lanes_below(n - 8))};
}
NB_OP void store(float* p, Floats x) {
  _mm256_storeu_ps(p, x.a);
  _mm256_storeu_ps(p + 8, x.b);
}
NB_OP void store_first(float* p, Floats x, int n) {
  _mm256_maskstore_ps(p, lanes_below(n), x.a);
  _mm256_maskstore_ps(p + 8, lanes_below(n - 8), x.b);
}
// even[0], odd[0], even[1], odd[1], …
NB_OP void store_zipped(float* p, Floats even, Floats odd) {
  const auto sixteen = [](float* to, __m256 x, __m256 y) {
    const __m256 low = _mm256_unpacklo_ps(x, y), high = _mm256_unpackhi_ps(x, y);
    _mm256_storeu_ps(to, _mm256_permute2f128_ps(low, high, 0x20));
    _mm256_storeu_ps(to + 8, _mm256_permute2f128_ps(low, high, 0x31));
  };
  sixteen(p, even.a, odd.a);
  sixteen(p + 16, even.b, odd.b);
}
NB_OP Floats all(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
// Spread while it is loaded, by an instruction for fp32: no detour through the integer units.
NB_OP Bits all_bits_at(const std::uint32_t* p) {
  const __m256i r = _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(p)));
  return {r, r};
}
NB_OP Bits all_bits(std::uint32_t x) {
  const __m256i r = _mm256_set1_epi32(static_cast<int>(x));
  return {r, r};
}

// Sixteen values of two bytes: the upper 16 bits of the lanes.
NB_OP Bits load_upper(const std::uint16_t* p) {
  const auto eight = [](const std::uint16_t* from) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16);
  };
  return {eight(p), eight(p + 8)};
}
NB_OP void store_upper(std::uint16_t* p, Bits x) {
  const __m256i mixed = _mm256_packus_epi32(_mm256_srli_epi32(x.a, 16), _mm256_srli_epi32(x.b, 16));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(mixed, 0xd8));
}

NB_OP Floats operator+(Floats x, Floats y) {
  return {_mm256_add_ps(x.a, y.a), _mm256_add_ps(x.b, y.b)};
}
NB_OP Floats operator-(Floats x, Floats y) {
  return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)};
}
NB_OP Floats operator*(Floats x, Floats y) {
  return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)};
}
NB_OP Floats operator/(Floats x, Floats y) {
  return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)};
}
NB_OP Floats fma(Floats x, Floats y, Floats z) {
  return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
}
// The same, of a sum that stays in its registers: of twelve sums in sixteen registers the compiler
// makes other forms of the instruction, moves sums about and spills one of them.
NB_OP Floats fma_onto(Floats x, Floats y, Floats sum) {
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum.a) : "x"(x.a), "x"(y.a));
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum.b) : "x"(x.b), "x"(y.b));
  return sum;
}
NB_OP Floats sqrt(Floats x) { return {_mm256_sqrt_ps(x.a), _mm256_sqrt_ps(x.b)}; }

NB_OP Bits bits(Floats x) { return {_mm256_castps_si256(x.a), _mm256_castps_si256(x.b)}; }
NB_OP Floats floats(Bits x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
NB_OP Bits operator&(Bits x, Bits y) {
  return {_mm256_and_si256(x.a, y.a), _mm256_and_si256(x.b, y.b)};
}
NB_OP Bits operator|(Bits x, Bits y) {
  return {_mm256_or_si256(x.a, y.a), _mm256_or_si256(x.b, y.b)};
}
NB_OP Bits operator+(Bits x, Bits y) {
  return {_mm256_add_epi32(x.a, y.a), _mm256_add_epi32(x.b, y.b)};
}
NB_OP Bits operator-(Bits x, Bits y) {
  return {_mm256_sub_epi32(x.a, y.a), _mm256_sub_epi32(x.b, y.b)};
}
template <int kCount>
NB_OP Bits shift_left(Bits x) {
  return {_mm256_slli_epi32(x.a, kCount), _mm256_slli_epi32(x.b, kCount)};
}
template <int kCount>
NB_OP Bits shift_right(Bits x) {
  return {_mm256_srli_epi32(x.a, kCount), _mm256_srli_epi32(x.b, kCount)};
}
template <int kCount>
NB_OP Bits shift_right_signed(Bits x) {
  return {_mm256_srai_epi32(x.a, kCount), _mm256_srai_epi32(x.b, kCount)};
}
NB_OP Bits to_int(Floats x) { return {_mm256_cvtps_epi32(x.a), _mm256_cvtps_epi32(x.b)}; }
NB_OP Floats to_float(Bits x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }

// Lanes 1, 0, 3, 2, …
NB_OP Bits swap_pairs(Bits x) {
  return {_mm256_shuffle_epi32(x.a, 0xb1), _mm256_shuffle_epi32(x.b, 0xb1)};
}

NB_OP Mask operator<(Floats x, Floats y) {
  return {_mm256_cmp_ps(x.a, y.a, _CMP_LT_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LT_OQ)};
}
NB_OP Mask operator<=(Floats x, Floats y) {
  return {_mm256_cmp_ps(x.a, y.a, _CMP_LE_OQ), _mm256_cmp_ps(x.b, y.b, _CMP_LE_OQ)};
}
NB_OP Mask is_nan(Floats x) {
  return {_mm256_cmp_ps(x.a, x.a, _CMP_UNORD_Q), _mm256_cmp_ps(x.b, x.b, _CMP_UNORD_Q)};
}
NB_OP Mask first_lanes(int n) {
  return {_mm256_castsi256_ps(lanes_below(n)), _mm256_castsi256_ps(lanes_below(n - 8))};
}
NB_OP Floats select(Mask m, Floats yes, Floats no) {
  return {_mm256_blendv_ps(no.a, yes.a, m.a), _mm256_blendv_ps(no.b, yes.b, m.b)};
}
NB_OP bool all_of(Mask m) { return _mm256_movemask_ps(_mm256_and_ps(m.a, m.b)) == 0xff; }

// All are bf16 numbers already, and none is a NaN.
NB_OP bool are_bf16(Floats x) {
  const __m256i low = _mm256_slli_epi32(_mm256_castps_si256(_mm256_or_ps(x.a, x.b)), 16);
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(x.a, x.b, _CMP_UNORD_Q));
  const __m256i any = _mm256_or_si256(low, nan);
  return _mm256_testz_si256(any, any) != 0;
}
// Below 2^-56 the sign stays alone.
NB_OP Floats floored(Floats x) {
  const auto eight = [](__m256 v) {
    const __m256 sign = _mm256_set1_ps(-0.0f);
    const __m256 keeps =
        _mm256_cmp_ps(_mm256_andnot_ps(sign, v), _mm256_set1_ps(0x1p-56f), _CMP_GE_OQ);
    return _mm256_and_ps(v, _mm256_or_ps(keeps, sign));
  };
  return {eight(x.a), eight(x.b)};
}

NB_OP float tree_sum(Floats x) {
  const __m256 eight = _mm256_add_ps(x.a, x.b);
  const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
}

NB_OP void transpose8(__m256 (&x)[8]) {
  const __m256 t0 = _mm256_unpacklo_ps(x[0], x[1]), t1 = _mm256_unpackhi_ps(x[0], x[1]);
  const __m256 t2 = _mm256_unpacklo_ps(x[2], x[3]), t3 = _mm256_unpackhi_ps(x[2], x[3]);
  const __m256 t4 = _mm256_unpacklo_ps(x[4], x[5]), t5 = _mm256_unpackhi_ps(x[4], x[5]);
  const __m256 t6 = _mm256_unpacklo_ps(x[6], x[7]), t7 = _mm256_unpackhi_ps(x[6], x[7]);
  const __m256 u0 = _mm256_shuffle_ps(t0, t2, 0x44), u1 = _mm256_shuffle_ps(t0, t2, 0xee);
  const __m256 u2 = _mm256_shuffle_ps(t1, t3, 0x44), u3 = _mm256_shuffle_ps(t1, t3, 0xee);
  const __m256 u4 = _mm256_shuffle_ps(t4, t6, 0x44), u5 = _mm256_shuffle_ps(t4, t6, 0xee);
  const __m256 u6 = _mm256_shuffle_ps(t5, t7, 0x44), u7 = _mm256_shuffle_ps(t5, t7, 0xee);
  x[0] = _mm256_permute2f128_ps(u0, u4, 0x20);
  x[1] = _mm256_permute2f128_ps(u1, u5, 0x20);
  x[2] = _mm256_permute2f128_ps(u2, u6, 0x20);
  x[3] = _mm256_permute2f128_ps(u3, u7, 0x20);
  x[4] = _mm256_permute2f128_ps(u0, u4, 0x31);
  x[5] = _mm256_permute2f128_ps(u1, u5, 0x31);
  x[6] = _mm256_permute2f128_ps(u2, u6, 0x31);
  x[7] = _mm256_permute2f128_ps(u3, u7, 0x31);
}

NB_OP void transpose(Bits (&x)[16]) {
  __m256 q[4][8];  // quarters: rows 0-7 | 8-15, columns 0-7 | 8-15
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    q[0][i] = _mm256_castsi256_ps(x[i].a);
    q[1][i] = _mm256_castsi256_ps(x[i].b);
    q[2][i] = _mm256_castsi256_ps(x[i + 8].a);
    q[3][i] = _mm256_castsi256_ps(x[i + 8].b);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) transpose8(q[i]);
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    x[i] = {_mm256_castps_si256(q[0][i]), _mm256_castps_si256(q[2][i])};
    x[i + 8] = {_mm256_castps_si256(q[1][i]), _mm256_castps_si256(q[3][i])};
  }
}

NB_LOCAL_END
