// Sixteen lanes at the level being compiled, and what is built on them: rounding, row loops.
#pragma once

#include "model/kernels/inner/level.hpp"

#if NB_LEVEL_ID == NB_LEVEL_SCALAR
#include "model/kernels/inner/vec_scalar.hpp"
#elif NB_LEVEL_ID == NB_LEVEL_AVX2
#include "model/kernels/inner/vec_avx2.hpp"
#elif NB_LEVEL_ID == NB_LEVEL_NEON
#include "model/kernels/inner/vec_neon.hpp"
#else
#include "model/kernels/inner/vec_avx512.hpp"
#endif

#include "model/kernels/inner/table.hpp"

NB_LOCAL_BEGIN

#if NB_LEVEL_ID != NB_LEVEL_AVX2
// A sum that stays in its registers (vec_avx2.hpp); elsewhere there are enough of them.
NB_OP Floats fma_onto(Floats x, Floats y, Floats sum) { return fma(x, y, sum); }
NB_OP Bits all_bits_at(const std::uint32_t* p) { return all_bits(*p); }
#endif

// The short steps of narrow vectors go in bursts with nothing in between: a processor that two
// threads share takes in few instructions beside the arithmetic.
constexpr bool kInBursts = NB_LEVEL_ID == NB_LEVEL_AVX2 || NB_LEVEL_ID == NB_LEVEL_NEON;

template <int kValue>
struct Constant {
  static constexpr int value = kValue;
};

NB_OP Floats canonical_nan() { return floats(all_bits(0x7fc00000u)); }
NB_OP Floats magnitude(Floats x) { return floats(bits(x) & all_bits(0x7fffffffu)); }

// Keeps the upper 32 - kDrop bits, nearest even; infinities stay, NaN becomes canonical.
template <int kDrop>
NB_OP Floats drop_bits(Floats x) {
  const Bits u = bits(x);
  const Bits odd = shift_right<kDrop>(u) & all_bits(1u);
  const Bits up = u + all_bits((1u << (kDrop - 1)) - 1u) + odd;
  return select(is_nan(x), canonical_nan(), floats(up & all_bits(~((1u << kDrop) - 1u))));
}

// The same where x is no NaN, or the canonical one.
template <int kDrop>
NB_OP Floats drop_bits_ordinary(Floats x) {
  const Bits u = bits(x);
  const Bits odd = shift_right<kDrop>(u) & all_bits(1u);
  return floats((u + all_bits((1u << (kDrop - 1)) - 1u) + odd) & all_bits(~((1u << kDrop) - 1u)));
}

template <bool kSaturates>
NB_OP Floats round_fp16(Floats x) {
  const Floats size = magnitude(x);
  const Bits sign = bits(x) & all_bits(0x80000000u);
  // Below 2^-14 the quantum is 2^-24, the ulp of 0.5.
  const Floats tiny = (size + all(0.5f)) - all(0.5f);
  const Floats normal = drop_bits<13>(size);
  const Floats finite = select(size < all(0x1p-14f), tiny, normal);
  const Floats top = kSaturates ? all(65504.0f) : floats(all_bits(0x7f800000u));
  const Floats clamped = floats(bits(select(all(65504.0f) < finite, top, finite)) | sign);
  return select(is_nan(x), kSaturates ? all(0.0f) : canonical_nan(), clamped);
}

// Formats that few policies name share one copy of each kernel, which looks up for every vector
// what they are: with_rounding() and with_roundings() say so here while their bodies run. With a
// copy for each, these kernels took twice as long to compile.
constexpr int kRoundRare = -1, kRoundOtherRare = -2;
[[maybe_unused]] static thread_local int rare_rounding = kRoundNone,
                                         other_rare_rounding = kRoundNone;
[[maybe_unused]] __attribute__((noinline)) Floats round_to_rare(Floats x, int rounding);

template <int kRounding>
NB_OP Floats rounded(Floats x) {
  if constexpr (kRounding == kRoundRare) {
    return round_to_rare(x, rare_rounding);
  } else if constexpr (kRounding == kRoundOtherRare) {
    return round_to_rare(x, other_rare_rounding);
  } else if constexpr (kRounding == kRoundBf16) {
    return drop_bits<16>(x);
  } else if constexpr (kRounding == kRoundBf16Floor) {
#if NB_LEVEL_ID == NB_LEVEL_AVX2
    if (are_bf16(x)) return floored(x);  // as activations are
#endif
    const Floats y = drop_bits<16>(x);
    return select(magnitude(y) < all(0x1p-56f), floats(bits(y) & all_bits(0x80000000u)), y);
  } else if constexpr (kRounding == kRoundFp16) {
    return round_fp16<false>(x);
  } else if constexpr (kRounding == kRoundFp16Saturating) {
    return round_fp16<true>(x);
  } else if constexpr (kRounding == kRoundTf32) {
    return drop_bits<13>(x);
  } else if constexpr (kRounding == kRoundHf32) {
    return drop_bits<12>(x);
  } else {
    return x;
  }
}

// The bits of rounded() where x is no NaN, or the canonical one.
template <int kRounding>
NB_OP Floats rounded_ordinary(Floats x) {
  if constexpr (kRounding == kRoundBf16) {
    return drop_bits_ordinary<16>(x);
  } else if constexpr (kRounding == kRoundTf32) {
    return drop_bits_ordinary<13>(x);
  } else if constexpr (kRounding == kRoundHf32) {
    return drop_bits_ordinary<12>(x);
  } else {
    return rounded<kRounding>(x);
  }
}

// The bits of rounded() of values that are zero or normal numbers.
template <int kRounding, int kCount>
NB_OP void round_normal(Floats (&x)[kCount]) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (kRounding == kRoundBf16 && kCount % 2 == 0) {
#pragma GCC unroll 8
    for (int c = 0; c < kCount; c += 2) round_to_bf16(x[c], x[c + 1]);
    return;
  }
#endif
#pragma GCC unroll 8
  for (int c = 0; c < kCount; ++c) x[c] = rounded_ordinary<kRounding>(x[c]);
}

// The bits of rounded() of any values: several at a time, where none of them needs care.
template <int kRounding, int kCount>
NB_OP void round_any(Floats (&x)[kCount]) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (kRounding == kRoundBf16 && kCount % 2 == 0) {
    if (!has_nan_or_denormal(x)) return round_normal<kRounding>(x);
  }
#endif
#pragma GCC unroll 8
  for (int c = 0; c < kCount; ++c) x[c] = rounded<kRounding>(x[c]);
}

Floats round_to_rare(Floats x, int rounding) {
  switch (rounding) {
    case kRoundBf16:
      return rounded<kRoundBf16>(x);
    case kRoundBf16Floor:
      return rounded<kRoundBf16Floor>(x);
    case kRoundFp16:
      return rounded<kRoundFp16>(x);
    case kRoundFp16Saturating:
      return rounded<kRoundFp16Saturating>(x);
    case kRoundTf32:
      return rounded<kRoundTf32>(x);
    case kRoundHf32:
      return rounded<kRoundHf32>(x);
    default:
      return x;
  }
}

// Calls body with a compile-time constant that stands for the rounding. Not within another body.
template <class Body>
NB_OP void with_rounding(int rounding, const Body& body) {
  switch (rounding) {
    case kRoundNone:
      return body(Constant<kRoundNone>());
    case kRoundBf16:
      return body(Constant<kRoundBf16>());
    default:
      rare_rounding = rounding;
      return body(Constant<kRoundRare>());
  }
}

// The same of an operand that is packed: bf16 has its floor.
template <class Body>
NB_OP void with_operand_rounding(int rounding, const Body& body) {
  if (rounding == kRoundBf16Floor) return body(Constant<kRoundBf16Floor>());
  if (rounding == kRoundNone) return body(Constant<kRoundNone>());
  rare_rounding = rounding;
  body(Constant<kRoundRare>());
}

// The same of two at once.
template <class Body>
NB_OP void with_roundings(int first, int second, const Body& body) {
  if (first == kRoundNone && second == kRoundNone)
    return body(Constant<kRoundNone>(), Constant<kRoundNone>());
  if (first == kRoundNone && second == kRoundBf16)
    return body(Constant<kRoundNone>(), Constant<kRoundBf16>());
  if (first == kRoundBf16 && second == kRoundBf16)
    return body(Constant<kRoundBf16>(), Constant<kRoundBf16>());
  rare_rounding = first;
  other_rare_rounding = second;
  body(Constant<kRoundRare>(), Constant<kRoundOtherRare>());
}

NB_OP int lanes_left(std::int64_t n, std::int64_t i) {
  return n - i < 16 ? static_cast<int>(n - i) : 16;
}

// body(i, lanes) for each group of 16 elements, lanes < 16 in the last alone.
template <class Body>
NB_OP void each_group(std::int64_t n, const Body& body) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, 16);
  if (i < n) body(i, static_cast<int>(n - i));
}

// Groups that long chains of operations take side by side, so that none waits for itself.
#if NB_LEVEL_ID == NB_LEVEL_AVX512 || NB_LEVEL_ID == NB_LEVEL_AVX512BF16
constexpr int kSideBySide = 8;
#else
constexpr int kSideBySide = 1;
#endif

// body(i, constant count, lanes) for kCount groups at once from element i on, then for single ones.
template <int kCount, class Body>
NB_OP void each_groups(std::int64_t n, const Body& body) {
  std::int64_t i = 0;
  for (; i + 16 * kCount <= n; i += 16 * kCount) body(i, Constant<kCount>(), 16);
  for (; i < n; i += 16) body(i, Constant<1>(), lanes_left(n, i));
}

// body(0) … body(kCount - 1), written out.
template <int kCount, class Body>
NB_OP void each_of(const Body& body) {
#pragma GCC unroll 8
  for (int c = 0; c < kCount; ++c) body(c);
}

NB_OP Floats load_lanes(const float* p, int lanes) {
  return lanes == 16 ? load(p) : load_first(p, lanes);
}
NB_OP void store_lanes(float* p, Floats x, int lanes) {
  if (lanes == 16) {
    store(p, x);
  } else {
    store_first(p, x, lanes);
  }
}
// Lanes beyond the first are zero, or not stored.
NB_OP Bits load_upper_lanes(const std::uint16_t* p, int lanes) {
  if (lanes == 16) return load_upper(p);
  std::uint16_t some[16] = {};
  for (int i = 0; i < lanes; ++i) some[i] = p[i];
  return load_upper(some);
}
NB_OP void store_upper_lanes(std::uint16_t* p, Bits x, int lanes) {
  if (lanes == 16) return store_upper(p, x);
  std::uint16_t some[16];
  store_upper(some, x);
  for (int i = 0; i < lanes; ++i) p[i] = some[i];
}
// Groups side by side, of `lanes` each where there is one alone.
template <int kCount>
NB_OP void store_bf16(std::uint16_t* p, const Floats (&x)[kCount], int lanes) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512 || NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (kCount % 2 == 0) {
#pragma GCC unroll 8
    for (int c = 0; c < kCount; c += 2) store_upper(p + 16 * c, bits(x[c]), bits(x[c + 1]));
    return;
  }
#endif
#pragma GCC unroll 8
  for (int c = 0; c < kCount; ++c) store_upper_lanes(p + 16 * c, bits(x[c]), lanes);
}
NB_OP Floats load_lanes(const std::uint16_t* p, int lanes) {
  return floats(load_upper_lanes(p, lanes));
}
// Groups side by side, as store_bf16() stores them, or in fp32.
template <int kCount>
NB_OP void store_groups(std::uint16_t* p, const Floats (&x)[kCount], int lanes) {
  store_bf16(p, x, lanes);
}
template <int kCount>
NB_OP void store_groups(float* p, const Floats (&x)[kCount], int lanes) {
#pragma GCC unroll 8
  for (int c = 0; c < kCount; ++c) store_lanes(p + 16 * c, x[c], lanes);
}
// `next` in the first lanes, `before` in the others, which are skipped.
NB_OP Floats keep_lanes(Floats next, Floats before, int lanes) {
  return lanes == 16 ? next : select(first_lanes(lanes), next, before);
}

// The largest lane; NaN is never greater, -inf when nothing is.
NB_OP float tree_max(Floats a) {
  float v[16];
  store(v, a);
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) v[i] = v[i] < v[i + width] ? v[i + width] : v[i];
  }
  return v[0];
}

NB_LOCAL_END
