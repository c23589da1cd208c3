// One query over its keys: lanes are keys for the scores (sixteen rows turned at a time), then
// columns of V for the result. Bound by reading K and V.
#pragma once

#include "model/kernels/inner/attention_lanes.hpp"
#include "model/kernels/inner/functions.hpp"

NB_LOCAL_BEGIN

template <class Format>
NB_OP const typename Format::CachedValue* cached_row(const void* row) {
  return static_cast<const typename Format::CachedValue*>(row);
}

// Words w, w + 1, … (up to 16) more of the chains of sixteen keys. The row that is `next` to be
// read instead of each is asked for on the way: rows may lie apart.
template <class Format, bool kWhole>
NB_OP Floats more_words(const AttentionOne& b, const void* const* rows, const void* const* next,
                        std::int64_t w, Floats sum) {
  Bits block[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) {
    block[r] = row_words_at<Format, kWhole>(cached_row<Format>(rows[r]), w, b.dim, b.rounding);
    __builtin_prefetch(cached_row<Format>(next[r]) + Format::kPerWord * w);
  }
  transpose(block);
  const std::int64_t count = kWhole ? 16 : words_of<Format>(b.dim) - w;
  const std::uint32_t* words = b.words + w;
#pragma GCC unroll 16
  for (int s = 0; s < 16; ++s) {
    const int at = Format::kSwaps ? s ^ 1 : s;
    if (s < count) sum = Format::step(all_bits(words[at]), block[at], sum);
  }
  return sum;
}

// Chains of some groups of sixteen keys run side by side, to hide each other's latency.
template <class Format>
void one_scores(const AttentionOne& b) {
  const std::int64_t words = words_of<Format>(b.dim), whole = b.dim / Format::kPerWord / 16 * 16;
  for (std::int64_t key = 0; key < b.keys; key += kKeysAtOnce) {
    const std::int64_t end = key + kKeysAtOnce < b.keys ? key + kKeysAtOnce : b.keys;
    // What is read next: the keys behind these, at last the first rows of V.
    const void* const* next = end < b.keys ? b.k + end : b.v;
    for (std::int64_t i = key; i < end; i += 16) store(b.scores + i, all(0.0f));
    for (std::int64_t w = 0; w < words; w += 16) {
      for (std::int64_t i = key; i < end; i += 16) {
        const Floats sum = load(b.scores + i);
        const auto more = [&](auto whole_words) {
          return more_words<Format, decltype(whole_words)::value>(b, b.k + i, next + (i - key), w,
                                                                  sum);
        };
        store(b.scores + i, w < whole ? more(Constant<true>()) : more(Constant<false>()));
      }
    }
  }
}

// Asks for `kCols` values of rows key and key + 1.
template <class Format, int kCols>
NB_OP void prefetch_two(const void* const* rows, std::int64_t count, std::int64_t key,
                        std::int64_t col) {
  constexpr int kLine = 64 / sizeof(typename Format::CachedValue);
  if (key >= count) return;
  const auto* even = cached_row<Format>(rows[key]) + col;
  const auto* odd = cached_row<Format>(rows[key + 1 < count ? key + 1 : key]) + col;
#pragma GCC unroll 8
  for (int i = 0; i < kCols; i += kLine) {
    __builtin_prefetch(even + i);
    __builtin_prefetch(odd + i);
  }
}

// Asks for what will be read after rows `key` and key + 1 of the columns [col, col + kCols) of V.
// The scores have asked for the first rows of it.
template <class Format, int kCols>
NB_OP void prefetch_after(const AttentionOne& b, std::int64_t key, std::int64_t col) {
  constexpr std::int64_t kAhead = 12;
  if (key + kAhead >= kKeysAtOnce) prefetch_two<Format, kCols>(b.v, b.keys, key + kAhead, col);
  prefetch_two<Format, kCols>(b.next, b.next_keys, key, col);
}

// kVectors · 16 columns from `col` on; the last vector has `lanes`.
template <class Format, int kVectors>
NB_OP void one_columns(const AttentionOne& b, const std::uint32_t* p, std::int64_t col, int lanes) {
  Floats acc[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) acc[v] = all(0.0f);
  for (std::int64_t key = 0; key < b.keys; key += 2) {
    const bool both = key + 1 < b.keys;
    const auto* even = cached_row<Format>(b.v[key]) + col;
    const auto* odd = cached_row<Format>(b.v[both ? key + 1 : key]) + col;
    prefetch_after<Format, 16 * kVectors>(b, key, col);
    const Bits first = all_bits(p[key / Format::kPerWord]);
    const Bits second =
        all_bits(Format::kPerWord == 1 && (both || Format::kSwaps) ? p[key + 1] : 0u);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int used = v + 1 < kVectors ? 16 : lanes;
      if constexpr (sizeof(typename Format::CachedValue) == 4) {
        const Floats x = word_of<Format>(load_lanes(even + 16 * v, used), b.rounding);
        acc[v] = Format::step(first, bits(x), acc[v]);
        if (!both) continue;
        const Floats y = word_of<Format>(load_lanes(odd + 16 * v, used), b.rounding);
        acc[v] = Format::step(second, bits(y), acc[v]);
      } else {
        const Bits x = load_upper_lanes(even + 16 * v, used);
        const Bits y = both ? load_upper_lanes(odd + 16 * v, used) : all_bits(0u);
        if constexpr (Format::kPerWord == 2) {
          acc[v] = Format::step(first, y | shift_right<16>(x), acc[v]);
        } else {
          acc[v] = Format::step(first, x, Format::step(second, y, acc[v]));
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) store(b.sums + col + 16 * v, acc[v]);
}

#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
// 32 · kGroups columns of halves: two rows are zipped within quarters of a register, which leaves
// the columns in an order that the end puts right.
template <int kGroups>
NB_OP void one_columns_of_pairs(const AttentionOne& b, const std::uint32_t* p, std::int64_t col) {
  Floats acc[kGroups][2];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) acc[g][0] = acc[g][1] = all(0.0f);
  for (std::int64_t key = 0; key < b.keys; key += 2) {
    const bool both = key + 1 < b.keys;
    const std::uint16_t* even = cached_row<Bf16Pairs>(b.v[key]) + col;
    const std::uint16_t* odd = cached_row<Bf16Pairs>(b.v[both ? key + 1 : key]) + col;
    prefetch_after<Bf16Pairs, 32 * kGroups>(b, key, col);
    const Bits weights = all_bits(p[key / 2]);
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const __m512i x = _mm512_loadu_si512(even + 32 * g);
      const __m512i y = both ? _mm512_loadu_si512(odd + 32 * g) : _mm512_setzero_si512();
      acc[g][0] = Bf16Pairs::step(weights, {_mm512_unpacklo_epi16(x, y)}, acc[g][0]);
      acc[g][1] = Bf16Pairs::step(weights, {_mm512_unpackhi_epi16(x, y)}, acc[g][1]);
    }
  }
  const __m512i low = _mm512_setr_epi32(0, 1, 2, 3, 16, 17, 18, 19, 4, 5, 6, 7, 20, 21, 22, 23);
  const __m512i high = _mm512_add_epi32(low, _mm512_set1_epi32(8));
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) {
    float* to = b.sums + col + 32 * g;
    store(to, {_mm512_permutex2var_ps(acc[g][0].v, low, acc[g][1].v)});
    store(to + 16, {_mm512_permutex2var_ps(acc[g][0].v, high, acc[g][1].v)});
  }
}
#endif

template <class Format>
void one_query(const AttentionOne& b) {
  row_to_words<Format>(b.q, b.dim, b.rounding, b.words);
  one_scores<Format>(b);
  softmax(b.scores, b.keys, b.scale, b.max, b.sum);
  row_to_words<Format>(b.scores, b.keys, b.rounding, b.words);
  std::int64_t col = 0;
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (Format::kPerWord == 2) {
    for (; col + 128 <= b.dim; col += 128) one_columns_of_pairs<4>(b, b.words, col);
    for (; col + 32 <= b.dim; col += 32) one_columns_of_pairs<1>(b, b.words, col);
  }
#endif
  constexpr int kVectors = 4 * kTileVectors;
  for (; col + 16 * kVectors <= b.dim; col += 16 * kVectors) {
    one_columns<Format, kVectors>(b, b.words, col, 16);
  }
  for (; col < b.dim; col += 16) one_columns<Format, 1>(b, b.words, col, lanes_left(b.dim, col));
}

NB_LOCAL_END
