// Packing and register tiles of fp32 panels; product_bf16.cpp adds the pair format.
#pragma once

#include "model/kernels/inner/vec.hpp"

NB_LOCAL_BEGIN

NB_OP void store_words(std::uint32_t* dst, Bits x, int count) {
  store_lanes(reinterpret_cast<float*>(dst), floats(x), count);
}

// One tile: kRows × 16 kVectors sums held in registers over all steps. multiply_add(a, b, c) is one
// step.
template <int kRows, int kVectors, class Step>
NB_OP void tile_loop(int width_a, int width_b, std::int64_t steps, const std::uint32_t* a,
                     const std::uint32_t* b, float* c, std::int64_t c_stride, int mode,
                     const Step& step) {
  Floats acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = mode == kTileContinue ? load(c + r * c_stride + 16 * v) : all(0.0f);
    }
  }
  for (std::int64_t s = 0; s < steps; ++s) {
    Bits bv[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      bv[v] = bits(load(reinterpret_cast<const float*>(b) + 16 * v));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Bits av = all_bits(a[r]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[r][v] = step(av, bv[v], acc[r][v]);
    }
    a += width_a;
    b += width_b;
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      float* out = c + r * c_stride + 16 * v;
      store(out, mode == kTileAdd ? load(out) + acc[r][v] : acc[r][v]);
    }
  }
}

// tile_loop without loads, so that nothing but the arithmetic units can limit it.
template <int kRows, int kVectors, class Step>
NB_OP void spin_loop(std::int64_t steps, float* values, const Step& step) {
  Floats acc[kRows][kVectors];
  const Bits x = bits(load(values));
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) acc[r][v] = all(static_cast<float>(r * kVectors + v));
  }
  for (std::int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[r][v] = step(x, x, acc[r][v]);
    }
  }
  Floats sum = all(0.0f);
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum = sum + acc[r][v];
  }
  store(values, sum);
}

NB_LOCAL_END
