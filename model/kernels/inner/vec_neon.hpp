// Sixteen fp32 lanes as four NEON registers (AArch64; fmla alone: BFDOT and BFMMLA round
// otherwise). Arrays of registers, as the tiles use them, stay in registers once the loops are
// unrolled.
#pragma once

#include <arm_neon.h>

#include <cstdint>

#include "model/kernels/inner/level.hpp"

NB_LOCAL_BEGIN

struct Floats {
  float32x4_t a, b, c, d;
};
struct Bits {
  uint32x4_t a, b, c, d;
};
struct Mask {
  uint32x4_t a, b, c, d;  // all ones or all zeros in a lane
};

// The first n of four lanes, n <= 0 none, the others 0; no other word is touched.
NB_OP float32x4_t load_quad(const float* p, int n) {
  float32x4_t x = vdupq_n_f32(0.0f);
  if (n >= 4) return vld1q_f32(p);
  if (n >= 1) x = vld1q_lane_f32(p, x, 0);
  if (n >= 2) x = vld1q_lane_f32(p + 1, x, 1);
  if (n >= 3) x = vld1q_lane_f32(p + 2, x, 2);
  return x;
}
NB_OP void store_quad(float* p, float32x4_t x, int n) {
  if (n >= 4) return vst1q_f32(p, x);
  if (n >= 1) vst1q_lane_f32(p, x, 0);
  if (n >= 2) vst1q_lane_f32(p + 1, x, 1);
  if (n >= 3) vst1q_lane_f32(p + 2, x, 2);
}

NB_OP Floats load(const float* p) {
  return {vld1q_f32(p), vld1q_f32(p + 4), vld1q_f32(p + 8), vld1q_f32(p + 12)};
}
NB_OP Floats load_first(const float* p, int n) {
  return {load_quad(p, n), load_quad(p + 4, n - 4), load_quad(p + 8, n - 8),
          load_quad(p + 12, n - 12)};
}
NB_OP void store(float* p, Floats x) {
  vst1q_f32(p, x.a);
  vst1q_f32(p + 4, x.b);
  vst1q_f32(p + 8, x.c);
  vst1q_f32(p + 12, x.d);
}
NB_OP void store_first(float* p, Floats x, int n) {
  store_quad(p, x.a, n);
  store_quad(p + 4, x.b, n - 4);
  store_quad(p + 8, x.c, n - 8);
  store_quad(p + 12, x.d, n - 12);
}
// even[0], odd[0], even[1], odd[1], …
NB_OP void store_zipped(float* p, Floats even, Floats odd) {
  const auto eight = [](float* to, float32x4_t x, float32x4_t y) {
    vst1q_f32(to, vzip1q_f32(x, y));
    vst1q_f32(to + 4, vzip2q_f32(x, y));
  };
  eight(p, even.a, odd.a);
  eight(p + 8, even.b, odd.b);
  eight(p + 16, even.c, odd.c);
  eight(p + 24, even.d, odd.d);
}
NB_OP Floats all(float x) {
  const float32x4_t r = vdupq_n_f32(x);
  return {r, r, r, r};
}
NB_OP Bits all_bits(std::uint32_t x) {
  const uint32x4_t r = vdupq_n_u32(x);
  return {r, r, r, r};
}

// Sixteen values of two bytes: the upper 16 bits of the lanes.
NB_OP uint32x4_t load_upper_quad(const std::uint16_t* p) {
  return vshlq_n_u32(vmovl_u16(vld1_u16(p)), 16);
}
NB_OP Bits load_upper(const std::uint16_t* p) {
  return {load_upper_quad(p), load_upper_quad(p + 4), load_upper_quad(p + 8),
          load_upper_quad(p + 12)};
}
NB_OP void store_upper(std::uint16_t* p, Bits x) {
  vst1_u16(p, vshrn_n_u32(x.a, 16));
  vst1_u16(p + 4, vshrn_n_u32(x.b, 16));
  vst1_u16(p + 8, vshrn_n_u32(x.c, 16));
  vst1_u16(p + 12, vshrn_n_u32(x.d, 16));
}

NB_OP Floats operator+(Floats x, Floats y) {
  return {vaddq_f32(x.a, y.a), vaddq_f32(x.b, y.b), vaddq_f32(x.c, y.c), vaddq_f32(x.d, y.d)};
}
NB_OP Floats operator-(Floats x, Floats y) {
  return {vsubq_f32(x.a, y.a), vsubq_f32(x.b, y.b), vsubq_f32(x.c, y.c), vsubq_f32(x.d, y.d)};
}
NB_OP Floats operator*(Floats x, Floats y) {
  return {vmulq_f32(x.a, y.a), vmulq_f32(x.b, y.b), vmulq_f32(x.c, y.c), vmulq_f32(x.d, y.d)};
}
NB_OP Floats operator/(Floats x, Floats y) {
  return {vdivq_f32(x.a, y.a), vdivq_f32(x.b, y.b), vdivq_f32(x.c, y.c), vdivq_f32(x.d, y.d)};
}
NB_OP Floats fma(Floats x, Floats y, Floats z) {
  return {vfmaq_f32(z.a, x.a, y.a), vfmaq_f32(z.b, x.b, y.b), vfmaq_f32(z.c, x.c, y.c),
          vfmaq_f32(z.d, x.d, y.d)};
}
NB_OP Floats sqrt(Floats x) {
  return {vsqrtq_f32(x.a), vsqrtq_f32(x.b), vsqrtq_f32(x.c), vsqrtq_f32(x.d)};
}

NB_OP Bits bits(Floats x) {
  return {vreinterpretq_u32_f32(x.a), vreinterpretq_u32_f32(x.b), vreinterpretq_u32_f32(x.c),
          vreinterpretq_u32_f32(x.d)};
}
NB_OP Floats floats(Bits x) {
  return {vreinterpretq_f32_u32(x.a), vreinterpretq_f32_u32(x.b), vreinterpretq_f32_u32(x.c),
          vreinterpretq_f32_u32(x.d)};
}
NB_OP Bits operator&(Bits x, Bits y) {
  return {vandq_u32(x.a, y.a), vandq_u32(x.b, y.b), vandq_u32(x.c, y.c), vandq_u32(x.d, y.d)};
}
NB_OP Bits operator|(Bits x, Bits y) {
  return {vorrq_u32(x.a, y.a), vorrq_u32(x.b, y.b), vorrq_u32(x.c, y.c), vorrq_u32(x.d, y.d)};
}
NB_OP Bits operator+(Bits x, Bits y) {
  return {vaddq_u32(x.a, y.a), vaddq_u32(x.b, y.b), vaddq_u32(x.c, y.c), vaddq_u32(x.d, y.d)};
}
NB_OP Bits operator-(Bits x, Bits y) {
  return {vsubq_u32(x.a, y.a), vsubq_u32(x.b, y.b), vsubq_u32(x.c, y.c), vsubq_u32(x.d, y.d)};
}
template <int kCount>
NB_OP Bits shift_left(Bits x) {
  return {vshlq_n_u32(x.a, kCount), vshlq_n_u32(x.b, kCount), vshlq_n_u32(x.c, kCount),
          vshlq_n_u32(x.d, kCount)};
}
template <int kCount>
NB_OP Bits shift_right(Bits x) {
  return {vshrq_n_u32(x.a, kCount), vshrq_n_u32(x.b, kCount), vshrq_n_u32(x.c, kCount),
          vshrq_n_u32(x.d, kCount)};
}
template <int kCount>
NB_OP uint32x4_t shift_right_signed(uint32x4_t x) {
  return vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(x), kCount));
}
template <int kCount>
NB_OP Bits shift_right_signed(Bits x) {
  return {shift_right_signed<kCount>(x.a), shift_right_signed<kCount>(x.b),
          shift_right_signed<kCount>(x.c), shift_right_signed<kCount>(x.d)};
}
NB_OP uint32x4_t to_int(float32x4_t x) { return vreinterpretq_u32_s32(vcvtnq_s32_f32(x)); }
NB_OP float32x4_t to_float(uint32x4_t x) { return vcvtq_f32_s32(vreinterpretq_s32_u32(x)); }
NB_OP Bits to_int(Floats x) { return {to_int(x.a), to_int(x.b), to_int(x.c), to_int(x.d)}; }
NB_OP Floats to_float(Bits x) {
  return {to_float(x.a), to_float(x.b), to_float(x.c), to_float(x.d)};
}

// Lanes 1, 0, 3, 2, …
NB_OP Bits swap_pairs(Bits x) {
  return {vrev64q_u32(x.a), vrev64q_u32(x.b), vrev64q_u32(x.c), vrev64q_u32(x.d)};
}

NB_OP Mask operator<(Floats x, Floats y) {
  return {vcltq_f32(x.a, y.a), vcltq_f32(x.b, y.b), vcltq_f32(x.c, y.c), vcltq_f32(x.d, y.d)};
}
NB_OP Mask operator<=(Floats x, Floats y) {
  return {vcleq_f32(x.a, y.a), vcleq_f32(x.b, y.b), vcleq_f32(x.c, y.c), vcleq_f32(x.d, y.d)};
}
NB_OP uint32x4_t is_nan(float32x4_t x) { return vmvnq_u32(vceqq_f32(x, x)); }
NB_OP Mask is_nan(Floats x) { return {is_nan(x.a), is_nan(x.b), is_nan(x.c), is_nan(x.d)}; }
NB_OP uint32x4_t lanes_below(int n) {
  const int32x4_t lane =
      vcombine_s32(vcreate_s32(0x0000000100000000u), vcreate_s32(0x0000000300000002u));
  return vcltq_s32(lane, vdupq_n_s32(n));
}
NB_OP Mask first_lanes(int n) {
  return {lanes_below(n), lanes_below(n - 4), lanes_below(n - 8), lanes_below(n - 12)};
}
NB_OP Floats select(Mask m, Floats yes, Floats no) {
  return {vbslq_f32(m.a, yes.a, no.a), vbslq_f32(m.b, yes.b, no.b), vbslq_f32(m.c, yes.c, no.c),
          vbslq_f32(m.d, yes.d, no.d)};
}
NB_OP bool all_of(Mask m) {
  return vminvq_u32(vandq_u32(vandq_u32(m.a, m.b), vandq_u32(m.c, m.d))) != 0;
}

NB_OP float tree_sum(Floats x) {
  const float32x4_t four = vaddq_f32(vaddq_f32(x.a, x.c), vaddq_f32(x.b, x.d));
  const float32x2_t two = vadd_f32(vget_low_f32(four), vget_high_f32(four));
  return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

// Four rows of four words.
NB_OP void transpose4(uint32x4_t& x0, uint32x4_t& x1, uint32x4_t& x2, uint32x4_t& x3) {
  const uint64x2_t t0 = vreinterpretq_u64_u32(vtrn1q_u32(x0, x1));
  const uint64x2_t t1 = vreinterpretq_u64_u32(vtrn2q_u32(x0, x1));
  const uint64x2_t t2 = vreinterpretq_u64_u32(vtrn1q_u32(x2, x3));
  const uint64x2_t t3 = vreinterpretq_u64_u32(vtrn2q_u32(x2, x3));
  x0 = vreinterpretq_u32_u64(vtrn1q_u64(t0, t2));
  x1 = vreinterpretq_u32_u64(vtrn1q_u64(t1, t3));
  x2 = vreinterpretq_u32_u64(vtrn2q_u64(t0, t2));
  x3 = vreinterpretq_u32_u64(vtrn2q_u64(t1, t3));
}

NB_OP void swap(uint32x4_t& x, uint32x4_t& y) {
  const uint32x4_t t = x;
  x = y;
  y = t;
}

NB_OP void transpose(Bits (&x)[16]) {
#pragma GCC unroll 4
  for (int i = 0; i < 16; i += 4) {
    transpose4(x[i].a, x[i + 1].a, x[i + 2].a, x[i + 3].a);
    transpose4(x[i].b, x[i + 1].b, x[i + 2].b, x[i + 3].b);
    transpose4(x[i].c, x[i + 1].c, x[i + 2].c, x[i + 3].c);
    transpose4(x[i].d, x[i + 1].d, x[i + 2].d, x[i + 3].d);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    swap(x[i].b, x[i + 4].a);
    swap(x[i].c, x[i + 8].a);
    swap(x[i].d, x[i + 12].a);
    swap(x[i + 4].c, x[i + 8].b);
    swap(x[i + 4].d, x[i + 12].b);
    swap(x[i + 8].d, x[i + 12].c);
  }
}

NB_LOCAL_END
