// Sixteen fp32 lanes in plain C++: the definition that the other levels' lanes must equal.
#pragma once

#include <cstdint>
#include <cstring>

#include "model/kernels/inner/level.hpp"

NB_LOCAL_BEGIN

struct Floats {
  float v[16];
};
struct Bits {
  std::uint32_t v[16];
};
struct Mask {
  bool v[16];
};

#define NB_LANES(expression)       \
  do {                             \
    for (int i = 0; i < 16; ++i) { \
      r.v[i] = (expression);       \
    }                              \
    return r;                      \
  } while (false)

NB_OP Floats load(const float* p) {  // bytes: packed panels are read as words and as floats
  Floats r;
  std::memcpy(&r, p, sizeof r);
  return r;
}
NB_OP Floats load_first(const float* p, int n) {
  Floats r = {};
  std::memcpy(&r, p, static_cast<std::size_t>(n) * sizeof(float));
  return r;
}
NB_OP void store(float* p, Floats a) { std::memcpy(p, &a, sizeof a); }
NB_OP void store_first(float* p, Floats a, int n) {
  std::memcpy(p, &a, static_cast<std::size_t>(n) * sizeof(float));
}
// even[0], odd[0], even[1], odd[1], …
NB_OP void store_zipped(float* p, Floats even, Floats odd) {
  for (int i = 0; i < 16; ++i) {
    p[2 * i] = even.v[i];
    p[2 * i + 1] = odd.v[i];
  }
}
NB_OP Floats all(float x) {
  Floats r;
  NB_LANES(x);
}
NB_OP Bits all_bits(std::uint32_t x) {
  Bits r;
  NB_LANES(x);
}

// Sixteen values of two bytes: the upper 16 bits of the lanes.
NB_OP Bits load_upper(const std::uint16_t* p) {
  Bits r;
  NB_LANES(static_cast<std::uint32_t>(p[i]) << 16);
}
NB_OP void store_upper(std::uint16_t* p, Bits a) {
  for (int i = 0; i < 16; ++i) p[i] = static_cast<std::uint16_t>(a.v[i] >> 16);
}

NB_OP Floats operator+(Floats a, Floats b) {
  Floats r;
  NB_LANES(a.v[i] + b.v[i]);
}
NB_OP Floats operator-(Floats a, Floats b) {
  Floats r;
  NB_LANES(a.v[i] - b.v[i]);
}
NB_OP Floats operator*(Floats a, Floats b) {
  Floats r;
  NB_LANES(a.v[i] * b.v[i]);
}
NB_OP Floats operator/(Floats a, Floats b) {
  Floats r;
  NB_LANES(a.v[i] / b.v[i]);
}
NB_OP Floats fma(Floats a, Floats b, Floats c) {
  Floats r;
  NB_LANES(__builtin_fmaf(a.v[i], b.v[i], c.v[i]));
}
NB_OP Floats sqrt(Floats a) {
  Floats r;
  NB_LANES(__builtin_sqrtf(a.v[i]));
}

NB_OP Bits bits(Floats a) {
  Bits r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
NB_OP Floats floats(Bits a) {
  Floats r;
  std::memcpy(&r, &a, sizeof r);
  return r;
}
NB_OP Bits operator&(Bits a, Bits b) {
  Bits r;
  NB_LANES(a.v[i] & b.v[i]);
}
NB_OP Bits operator|(Bits a, Bits b) {
  Bits r;
  NB_LANES(a.v[i] | b.v[i]);
}
NB_OP Bits operator+(Bits a, Bits b) {
  Bits r;
  NB_LANES(a.v[i] + b.v[i]);
}
NB_OP Bits operator-(Bits a, Bits b) {
  Bits r;
  NB_LANES(a.v[i] - b.v[i]);
}
template <int kCount>
NB_OP Bits shift_left(Bits a) {
  Bits r;
  NB_LANES(a.v[i] << kCount);
}
template <int kCount>
NB_OP Bits shift_right(Bits a) {
  Bits r;
  NB_LANES(a.v[i] >> kCount);
}
template <int kCount>
NB_OP Bits shift_right_signed(Bits a) {
  Bits r;
  NB_LANES(static_cast<std::uint32_t>(static_cast<std::int32_t>(a.v[i]) >> kCount));
}
// Nearest-even; |a| < 2^31.
NB_OP Bits to_int(Floats a) {
  Bits r;
  NB_LANES(static_cast<std::uint32_t>(static_cast<std::int32_t>(__builtin_rintf(a.v[i]))));
}
NB_OP Floats to_float(Bits a) {
  Floats r;
  NB_LANES(static_cast<float>(static_cast<std::int32_t>(a.v[i])));
}

// Lanes 1, 0, 3, 2, …
NB_OP Bits swap_pairs(Bits a) {
  Bits r;
  NB_LANES(a.v[i ^ 1]);
}

NB_OP Mask operator<(Floats a, Floats b) {
  Mask r;
  NB_LANES(a.v[i] < b.v[i]);
}
NB_OP Mask operator<=(Floats a, Floats b) {
  Mask r;
  NB_LANES(a.v[i] <= b.v[i]);
}
NB_OP Mask is_nan(Floats a) {
  Mask r;
  NB_LANES(a.v[i] != a.v[i]);
}
NB_OP Mask first_lanes(int n) {
  Mask r;
  NB_LANES(i < n);
}
NB_OP Floats select(Mask m, Floats yes, Floats no) {
  Floats r;
  NB_LANES(m.v[i] ? yes.v[i] : no.v[i]);
}
NB_OP bool all_of(Mask m) {
  bool result = true;
  for (int i = 0; i < 16; ++i) result = result && m.v[i];
  return result;
}

#undef NB_LANES

// lane i += lane i+8, +4, +2, +1; lane 0.
NB_OP float tree_sum(Floats a) {
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) a.v[i] += a.v[i + width];
  }
  return a.v[0];
}

// Row i of the 16 × 16 words becomes column i.
NB_OP void transpose(Bits (&x)[16]) {
  for (int i = 0; i < 16; ++i) {
    for (int j = 0; j < i; ++j) {
      const std::uint32_t t = x[i].v[j];
      x[i].v[j] = x[j].v[i];
      x[j].v[i] = t;
    }
  }
}

NB_LOCAL_END
