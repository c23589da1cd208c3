// One query over its keys: lanes are keys for the scores (sixteen rows turned at a time), then
// columns of V for the result. Bound by reading K and V.
#pragma once

#include "model/kernels/inner/attention_lanes.hpp"
#include "model/kernels/inner/functions.hpp"

NB_LOCAL_BEGIN

// Sixteen more words of the chains of sixteen keys.
template <class Format, bool kWhole>
NB_OP Floats sixteen_keys(const float* const* k, std::int64_t last, std::int64_t w,
                          std::int64_t dim, int rounding, const std::uint32_t* q, int count,
                          Floats sum) {
  Bits block[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) {
    block[r] = row_words_at<Format, kWhole>(k[r < last ? r : last], w, dim, rounding);
  }
  transpose(block);
#pragma GCC unroll 16
  for (int s = 0; s < 16; ++s) {
    const int at = Format::kSwaps ? s ^ 1 : s;
    if (kWhole || s < count) sum = Format::step(all_bits(q[at]), block[at], sum);
  }
  return sum;
}

template <class Format>
void one_scores(const AttentionOne& b) {
  const std::int64_t words = words_of<Format>(b.dim), whole = b.dim / Format::kPerWord / 16 * 16;
  for (std::int64_t key = 0; key < b.keys; key += 32) {
    Floats sum[2] = {all(0.0f), all(0.0f)};  // two chains hide each other's latency
    const auto step = [&](auto is_whole, std::int64_t w) {
      for (int g = 0; g < 2; ++g) {
        const std::int64_t first = key + 16 * g < b.keys ? key + 16 * g : b.keys - 1;
        sum[g] = sixteen_keys<Format, decltype(is_whole)::value != 0>(
            b.k + first, b.keys - 1 - first, w, b.dim, b.rounding, b.words + w,
            lanes_left(words, w), sum[g]);
      }
    };
    for (std::int64_t w = 0; w < whole; w += 16) step(Constant<1>(), w);
    if (whole < words) step(Constant<0>(), whole);
    store(b.scores + key, sum[0]);
    store(b.scores + key + 16, sum[1]);
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
