// Register tiles whose left operand lies in memory as it came: by rows, or by lanes. Formats say
// what a word holds.
#pragma once

#include "model/kernels/inner/attention.hpp"
#include "model/kernels/inner/vec.hpp"

NB_LOCAL_BEGIN

#if NB_LEVEL_ID == NB_LEVEL_SCALAR
constexpr int kTileRows = 4, kTileVectors = 1;
#elif NB_LEVEL_ID == NB_LEVEL_AVX2 || NB_LEVEL_ID == NB_LEVEL_NEON
constexpr int kTileRows = 6, kTileVectors = 1;
#else
constexpr int kTileRows = 12, kTileVectors = 2;
#endif
constexpr int kWidth = 16 * kTileVectors;
static_assert(kTileRows % 2 == 0, "rows of a tile make whole pairs of keys");

// fp32, tf32, hf32, fp16: k ascends. CachedValue: of keys and values that wait for later queries.
struct PlainWords {
  using CachedValue = float;
  static constexpr int kPerWord = 1;
  static constexpr bool kSwaps = false;
  NB_OP static Floats step(Bits a, Bits b, Floats c) { return fma_onto(floats(a), floats(b), c); }
};
// bf16 in fp32 words: k runs 1, 0, 3, 2, …
struct Bf16Words {
  using CachedValue = std::uint16_t;
  static constexpr int kPerWord = 1;
  static constexpr bool kSwaps = true;
  NB_OP static Floats step(Bits a, Bits b, Floats c) { return fma_onto(floats(a), floats(b), c); }
};

#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
struct Bf16Pairs {
  using CachedValue = std::uint16_t;
  static constexpr int kPerWord = 2;
  static constexpr bool kSwaps = false;
  NB_OP static Floats step(Bits a, Bits b, Floats c) {
    return {
        _mm512_dpbf16_ps(c.v, reinterpret_cast<__m512bh>(a.v), reinterpret_cast<__m512bh>(b.v))};
  }
};

// Values that round below 2^-56 become +0; NaN stays. See gemm_bf16.cpp.
NB_OP Floats floored_to_pair(Floats x) {
  const __m512 least = _mm512_set1_ps(0x1p-56f - 0x1p-65f);
  return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(_mm512_abs_ps(x.v), least, _CMP_NLT_UQ), x.v)};
}
// Lanes (0, 1), (2, 3), … of low, then of high. Both floored.
NB_OP Bits neighbours(Floats low, Floats high) {
  return {reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high.v, low.v))};
}
// Lane i: (even[i], odd[i]). Both floored.
NB_OP Bits zipped_pair(Floats even, Floats odd) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return {_mm512_permutexvar_epi16(order, neighbours(even, odd).v)};
}
#endif

template <class Format>
constexpr std::int64_t words_of(std::int64_t values) {
  return Format::kPerWord == 2 || Format::kSwaps ? (values + 1) / 2 * 2 / Format::kPerWord : values;
}

// Prefetches what is due for some more steps.
NB_OP void prefetch_due(RowsAhead* ahead) {
  if (ahead == nullptr) return;
  for (ahead->due += ahead->rate; ahead->due >= RowsAhead::kUnit; ahead->due -= RowsAhead::kUnit) {
    if (ahead->stage == ahead->stage_count) return;
    RowsAhead::Stage& stage = ahead->stages[ahead->stage];
    auto& [row, stride, bytes] = stage.streams[ahead->stream];
    for (std::int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(row + i, 0, 2);
    row += stride;
    if (++ahead->stream < stage.stream_count) continue;
    ahead->stream = 0;
    if (--stage.rows == 0) ++ahead->stage;
  }
}

// Sums of kRows × kVectors · 16 in registers over `words` words. a: row r, word s at
// a[r * a_stride + s] (by rows) or at a[s * kWidth + r] (kAcross: lanes). b: lanes, rows of kWidth
// words. Starts from +0 or from `start`; finish(r, v, sum) takes each vector.
template <class Format, int kRows, int kVectors, bool kAcross, class Finish>
NB_OP void attention_tile(std::int64_t words, const std::uint32_t* a, std::int64_t a_stride,
                          const std::uint32_t* b, const float* start, std::int64_t start_stride,
                          RowsAhead* ahead, const Finish& finish) {
  Floats acc[kRows][kVectors];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      acc[r][v] = start == nullptr ? all(0.0f) : load(start + r * start_stride + 16 * v);
    }
  }
  // Rows in threes: one pointer and one stride reach three of them.
  constexpr int kBases = (kRows + 2) / 3;
  const std::uint32_t* base[kBases];
#pragma GCC unroll 4
  for (int g = 0; g < kBases; ++g) base[g] = a + (kAcross ? 0 : 3 * g * a_stride);
  const auto step = [&](std::int64_t at) {
    Bits bv[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v)
      bv[v] = bits(load(reinterpret_cast<const float*>(b + at * kWidth) + 16 * v));
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      const Bits av =
          all_bits_at(kAcross ? base[0] + at * kWidth + r : base[r / 3] + r % 3 * a_stride + at);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) acc[r][v] = Format::step(av, bv[v], acc[r][v]);
    }
  };
  const auto advance = [&](int steps) {
    b += steps * kWidth;
#pragma GCC unroll 4
    for (int g = 0; g < (kAcross ? 1 : kBases); ++g) base[g] += steps * (kAcross ? kWidth : 1);
  };
  constexpr int kAtOnce = Format::kSwaps ? 2 : 1;
  for (std::int64_t left = words; left > 0; left -= RowsAhead::kSteps) {
    prefetch_due(ahead);
    const std::int64_t count = left < RowsAhead::kSteps ? left : RowsAhead::kSteps;
    std::int64_t s = 0;
    if constexpr (kInBursts) {
      for (; s + 4 <= count; s += 4) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; ++i) step(Format::kSwaps ? i ^ 1 : i);
        advance(4);
      }
    }
    for (; s < count; s += kAtOnce) {
      if constexpr (Format::kSwaps) step(1);
      step(0);
      advance(kAtOnce);
    }
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) finish(r, v, acc[r][v]);
  }
}

struct WordRange {
  std::int64_t begin, end;
};
// c (rows, cols) = the chains of `rows` lanes of `a` and the panels of b. words_for(row): those
// that a tile that begins at that row needs.
template <class Format, class WordsFor>
NB_OP void lanes_times_panels(std::int64_t rows, std::int64_t cols, const std::uint32_t* a,
                              const std::uint32_t* b, std::int64_t b_panel, float* c,
                              std::int64_t c_stride, RowsAhead* ahead, const WordsFor& words_for) {
  constexpr int kRest = kWidth % kTileRows;
  const auto tile = [&](auto tile_rows, auto vectors, std::int64_t row, std::int64_t col) {
    float* to = c + row * c_stride + col;
    const WordRange words = words_for(row);
    const std::int64_t skipped = words.begin * kWidth;
    attention_tile<Format, decltype(tile_rows)::value, decltype(vectors)::value, true>(
        words.end - words.begin, a + skipped + row, 0, b + col / kWidth * b_panel + skipped,
        nullptr, 0, ahead,
        [&](int r, int v, Floats sum) { store(to + r * c_stride + 16 * v, sum); });
  };
  for (std::int64_t col = 0; col < cols; col += kWidth) {
    const bool whole = cols - col > 16 * (kTileVectors - 1);
    for (std::int64_t row = 0; row < rows; row += kTileRows) {
      if (kRest != 0 && row + kTileRows > kWidth) {
        constexpr int kRows = kRest == 0 ? kTileRows : kRest;
        if (whole) {
          tile(Constant<kRows>(), Constant<kTileVectors>(), row, col);
        } else {
          tile(Constant<kRows>(), Constant<1>(), row, col);
        }
      } else if (whole) {
        tile(Constant<kTileRows>(), Constant<kTileVectors>(), row, col);
      } else {
        tile(Constant<kTileRows>(), Constant<1>(), row, col);
      }
    }
  }
}

NB_LOCAL_END
