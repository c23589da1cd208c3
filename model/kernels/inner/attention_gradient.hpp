// Probabilities and score gradients of a tile of keys, queries in lanes, and where they go.
#pragma once

#include "model/kernels/inner/attention_lanes.hpp"

NB_LOCAL_BEGIN

constexpr float kOrdinaryScore = 86.0f;  // exponents up to this size need no care

// p and ds of keys `key` (even) and key + 1: rows of both, lanes of ds.
template <class Format>
NB_OP void store_gradients(const AttentionBackward& b, std::int64_t key,
                           Floats (&p)[2][kTileVectors], Floats (&ds)[2][kTileVectors]) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (Format::kPerWord == 2) {
    for (int i = 0; i < 2; ++i) {
      for (int v = 0; v < kTileVectors; ++v) {
        p[i][v] = floored_to_pair(p[i][v]);
        ds[i][v] = floored_to_pair(ds[i][v]);
      }
      const std::int64_t row = (key + i) * b.row_words;
      store_word_lanes(b.p + row, neighbours(p[i][0], p[i][1]), 16);
      store_word_lanes(b.ds + row, neighbours(ds[i][0], ds[i][1]), 16);
    }
    for (int v = 0; v < kTileVectors; ++v) {
      store_word_lanes(b.weights + key / 2 * kWidth + 16 * v, zipped_pair(ds[0][v], ds[1][v]), 16);
    }
    return;
  }
#endif
  for (int i = 0; i < 2; ++i) {
    for (int v = 0; v < kTileVectors; ++v) {
      const std::int64_t row = (key + i) * b.row_words + 16 * v;
      const Bits weight = bits(word_of<Format>(p[i][v], b.rounding));
      const Bits gradient = bits(word_of<Format>(ds[i][v], b.rounding));
      store_word_lanes(b.p + row, weight, 16);
      store_word_lanes(b.ds + row, gradient, 16);
      store_word_lanes(b.weights + (key + i) * kWidth + 16 * v, gradient, 16);
    }
  }
}

// p and ds of one tile of keys: s is scaled, less the maximum; dp a product. Vectors from `first`
// on. kOrdinary: all of s is within kOrdinaryScore of 0; kMasks: not all queries are there and see
// all these keys.
template <class Format, bool kOrdinary, bool kMasks>
[[maybe_unused]] __attribute__((noinline)) void gradient_rows(const AttentionBackward& b,
                                                              const float* s, const float* dp,
                                                              std::int64_t key, int first) {
  const Floats zero = all(0.0f);
  Mask real[kTileVectors];
  for (int v = 0; v < kTileVectors; ++v) real[v] = first_lanes(clamped(b.queries - 16 * v));
  for (int r = 0; r < kTileRows; r += 2) {
    Floats p[2][kTileVectors], ds[2][kTileVectors];
#pragma GCC unroll 2
    for (int v = 0; v < kTileVectors; ++v) {
      if (kMasks && v < first) {
        p[0][v] = p[1][v] = ds[0][v] = ds[1][v] = zero;
        continue;
      }
      const Floats sum = load(b.sum + 16 * v), delta = load(b.delta + 16 * v);
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        const int at = (r + i) * kWidth + 16 * v;
        Floats weight = (kOrdinary ? ordinary_exp(load(s + at)) : vec_exp(load(s + at))) / sum;
        Floats gradient = weight * ((load(dp + at) + zero) - delta);
        if (kMasks) {
          const Mask hidden = hidden_lanes(key + r + i, b.position + 16 * v);
          const Mask near = near_lanes(key + r + i, b.position + 16 * v, b.window);
          weight = select(real[v], select(hidden, zero, select(near, weight, zero)), zero);
          gradient = select(real[v], select(hidden, zero, select(near, gradient, zero)), zero);
          if (key + r + i >= b.keys) weight = gradient = zero;
        }
        p[i][v] = weight;
        ds[i][v] = gradient;
      }
    }
    store_gradients<Format>(b, key + r, p, ds);
  }
}

NB_LOCAL_END
