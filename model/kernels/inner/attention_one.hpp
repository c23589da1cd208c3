// One query over its keys: lanes are keys for the scores (sixteen rows turned at a time), then
// columns of V for the result. Bound by reading K and V.
#pragma once

#include "model/kernels/inner/attention_lanes.hpp"
#include "model/kernels/inner/functions.hpp"

NB_LOCAL_BEGIN

// Groups of sixteen keys whose chains run side by side, to hide each other's latency.
constexpr int kKeyGroups = 4;

// Words w … w + 15 (fewer at the end of the rows) more of the chains of the keys from `key` on.
// Keys beyond the last stand for it.
template <class Format, bool kWhole>
NB_OP void more_words(const AttentionOne& b, std::int64_t key, std::int64_t w, std::int64_t count,
                      Floats (&sum)[kKeyGroups]) {
  Bits block[kKeyGroups][16];
  for (int g = 0; g < kKeyGroups; ++g) {
    const std::int64_t first = key + 16 * g;
    if (first >= b.keys && g > 0) break;
    const float* const* rows = b.k + first;
    const std::int64_t last = b.keys - 1 - first, ahead = 16 * kKeyGroups;
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) {
      const std::int64_t at = r < last ? r : last;
      block[g][r] = row_words_at<Format, kWhole>(rows[at], w, b.dim, b.rounding);
      // The next keys' rows lie apart: fetched ahead here, line by line.
      const float* next =
          (at + ahead <= last ? rows[at + ahead] : b.v[16 * g + at]) + Format::kPerWord * w;
      __builtin_prefetch(next);
      if (Format::kPerWord == 2) __builtin_prefetch(next + 16);
    }
    transpose(block[g]);
  }
  for (std::int64_t s = 0; s < count; ++s) {
    const std::int64_t at = Format::kSwaps ? s ^ 1 : s;
    const Bits q = all_bits(b.words[w + at]);
#pragma GCC unroll 4
    for (int g = 0; g < kKeyGroups; ++g) sum[g] = Format::step(q, block[g][at], sum[g]);
  }
}

template <class Format>
void one_scores(const AttentionOne& b) {
  const std::int64_t words = words_of<Format>(b.dim), whole = b.dim / Format::kPerWord / 16 * 16;
  for (std::int64_t key = 0; key < b.keys; key += 16 * kKeyGroups) {
    Floats sum[kKeyGroups];
    for (Floats& chain : sum) chain = all(0.0f);
    for (std::int64_t w = 0; w < whole; w += 16) more_words<Format, true>(b, key, w, 16, sum);
    if (whole < words) more_words<Format, false>(b, key, whole, words - whole, sum);
    for (int g = 0; g < kKeyGroups; ++g) store(b.scores + key + 16 * g, sum[g]);
  }
}

// kVectors · 16 columns from `col` on; the last vector has `lanes`.
template <class Format, int kVectors>
NB_OP void one_columns(const AttentionOne& b, const std::uint32_t* p, std::int64_t col, int lanes) {
  constexpr std::int64_t kAhead = 12;  // rows lie apart, see prefetch_row
  Floats acc[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) acc[v] = all(0.0f);
  for (std::int64_t key = 0; key < b.keys; key += 2) {
    const bool both = key + 1 < b.keys;
    const float* even = b.v[key] + col;
    const float* odd = b.v[both ? key + 1 : key] + col;
    if (key + kAhead + 1 < b.keys) {
      prefetch_row(b.v[key + kAhead] + col, 1, 16 * kVectors);
      prefetch_row(b.v[key + kAhead + 1] + col, 1, 16 * kVectors);
    }
    for (std::int64_t i = key; i < key + 2 && i < b.next_keys; ++i) {
      for (int v = 0; v < kVectors; ++v) __builtin_prefetch(b.next[i] + col + 16 * v, 0, 2);
    }
    const Bits first = all_bits(p[key / Format::kPerWord]);
    const Bits second =
        all_bits(Format::kPerWord == 1 && (both || Format::kSwaps) ? p[key + 1] : 0u);
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const int used = v + 1 < kVectors ? 16 : lanes;
      const Floats low = load_lanes(even + 16 * v, used);
      const Floats high = both ? load_lanes(odd + 16 * v, used) : all(0.0f);
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
      if constexpr (Format::kPerWord == 2) {
        acc[v] =
            Format::step(first, zipped_pair(floored_to_pair(low), floored_to_pair(high)), acc[v]);
        continue;
      }
#endif
      const Bits x = bits(word_of<Format>(low, b.rounding));
      const Bits y = bits(word_of<Format>(high, b.rounding));
      if (Format::kSwaps) acc[v] = Format::step(second, y, acc[v]);
      acc[v] = Format::step(first, x, acc[v]);
      if (!Format::kSwaps && both) acc[v] = Format::step(second, y, acc[v]);
    }
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) store(b.sums + col + 16 * v, acc[v]);
}

template <class Format>
void one_query(const AttentionOne& b) {
  row_to_words<Format>(b.q, b.dim, b.rounding, b.words);
  one_scores<Format>(b);
  softmax(b.scores, b.keys, b.scale, b.max, b.sum);
  row_to_words<Format>(b.scores, b.keys, b.rounding, b.words);
  constexpr int kVectors = 4 * kTileVectors;
  std::int64_t col = 0;
  for (; col + 16 * kVectors <= b.dim; col += 16 * kVectors) {
    one_columns<Format, kVectors>(b, b.words, col, 16);
  }
  for (; col < b.dim; col += 16) one_columns<Format, 1>(b, b.words, col, lanes_left(b.dim, col));
}

NB_LOCAL_END
