// What attention does with lanes of queries: masks, maxima, exponentials, words of a format.
#pragma once

#include "model/kernels/inner/attention.hpp"
#include "model/kernels/inner/attention_tile.hpp"
#include "model/kernels/inner/vec_math.hpp"

NB_LOCAL_BEGIN

// Rows of a head lie apart: what follows a row is another head's, and the next row is fetched
// ahead.
constexpr std::int64_t kRowsAhead = 6;
template <class Value>
NB_OP void prefetch_row(const Value* row, std::int64_t rows_left, std::int64_t cols) {
  if (rows_left <= 0) return;
  for (std::int64_t i = 0; i < cols; i += std::int64_t{64 / sizeof(Value)}) {
    __builtin_prefetch(row + i);
  }
}
NB_OP void prefetch_row_to_write(float* row, std::int64_t rows_left, std::int64_t cols) {
  if (rows_left <= 0) return;
  for (std::int64_t i = 0; i < cols; i += 16) __builtin_prefetch(row + i, 1);
}

NB_OP int clamped(std::int64_t lanes) {
  return lanes < 0 ? 0 : lanes > 16 ? 16 : static_cast<int>(lanes);
}
// Lane i stands at position + i and sees keys up to that.
NB_OP Mask hidden_lanes(std::int64_t key, std::int64_t position) {
  return first_lanes(clamped(key - position));
}

// Lane i sees keys from position + i - window on.
NB_OP Mask near_lanes(std::int64_t key, std::int64_t position, std::int64_t window) {
  return first_lanes(clamped(key - position + window + 1));
}
// The first key that a query at `position` sees, or the one before: even.
NB_OP std::int64_t first_pair(std::int64_t position, std::int64_t window) {
  return position > window ? (position - window) / 2 * 2 : 0;
}

NB_OP Floats larger_of(Floats x, Floats best) { return select(best < x, x, best); }

// The maximum of a query whose largest scaled score is zero, in the order of the definition, which
// says of which sign. z: one lane, kWidth apart.
[[maybe_unused]] float zero_maximum(const float* z, std::int64_t first, std::int64_t keys) {
  float lanes[16];
  for (float& lane : lanes) lane = -__builtin_inff();
  for (std::int64_t j = first; j < keys; ++j) {
    float& lane = lanes[j % 16];
    if (lane < z[j * kWidth]) lane = z[j * kWidth];
  }
  for (int half = 8; half >= 1; half /= 2) {
    for (int i = 0; i < half; ++i) {
      if (lanes[i] < lanes[i + half]) lanes[i] = lanes[i + half];
    }
  }
  return lanes[0];
}

// lane[i] += lane[i + 8], +4, +2, +1: sixteen sums a query, queries side by side.
NB_OP Floats tree_of(Floats (&lane)[16]) {
#pragma GCC unroll 4
  for (int half = 8; half >= 1; half /= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) lane[i] = lane[i] + lane[i + half];
  }
  return lane[0];
}

// vec_exp, shorter where nothing over- or underflows: there one factor 2^n has the bits of two.
NB_OP Floats exp_of(Floats x) {
  if (!all_of(magnitude(x) < all(86.0f))) return vec_exp(x);
  const Bits n = to_int(x * all(1.44269502f));
  const Floats k = to_float(n);
  Floats r = fma(k, all(-0.693359375f), x);
  r = fma(k, all(2.12194440e-4f), r);
  Floats q = all(0.000197900314f);
  q = fma(q, r, all(0.00139449793f));
  q = fma(q, r, all(0.00833349861f));
  q = fma(q, r, all(0.0416662917f));
  q = fma(q, r, all(0.166666657f));
  q = fma(q, r, all(0.5f));
  const Floats e = fma(r * r, q, r) + all(1.0f);
  return floats(bits(e) + shift_left<23>(n));
}

NB_OP void store_word_lanes(std::uint32_t* dst, Bits x, int count) {
  store_lanes(reinterpret_cast<float*>(dst), floats(x), count);
}

// One value per word, rounded.
template <class Format>
NB_OP Floats word_of(Floats x, int rounding) {
  if constexpr (Format::kSwaps) return rounded<kRoundBf16Floor>(x);
  if (rounding == kRoundNone) return x;
  return round_to_rare(x, rounding);
}

// Words w, w + 1, … (up to 16) of a row of `cols` values; zero beyond them. kWhole: all are there.
template <class Format, bool kWhole>
NB_OP Bits row_words_at(const float* row, std::int64_t w, std::int64_t cols, int rounding) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (Format::kPerWord == 2) {
    const std::int64_t k = 2 * w;
    const Floats low = kWhole ? load(row + k) : load_first(row + k, clamped(cols - k));
    const Floats high =
        kWhole ? load(row + k + 16) : load_first(row + k + 16, clamped(cols - k - 16));
    return neighbours(floored_to_pair(low), floored_to_pair(high));
  }
#endif
  const Floats x = kWhole ? load(row + w) : load_first(row + w, clamped(cols - w));
  return bits(word_of<Format>(x, rounding));
}

// Sixteen words of a row of bf16; zero beyond the `left` values.
template <bool kWhole>
NB_OP Bits words_of_bf16(const std::uint16_t* row, std::int64_t left) {
  if (kWhole) return bits(load(reinterpret_cast<const float*>(row)));
  std::uint16_t some[32] = {};
  for (std::int64_t i = 0; i < 32 && i < left; ++i) some[i] = row[i];
  return bits(load(reinterpret_cast<const float*>(some)));
}

// The same of a row of bf16.
template <class Format, bool kWhole>
NB_OP Bits row_words_at(const std::uint16_t* row, std::int64_t w, std::int64_t cols, int) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (Format::kPerWord == 2) {
    return floored_pairs(words_of_bf16<kWhole>(row + 2 * w, cols - 2 * w));
  }
#endif
  return bits(rounded<kRoundBf16Floor>(load_lanes(row + w, kWhole ? 16 : clamped(cols - w))));
}

// A row of `cols` values to words_of(cols) words.
template <class Format, class Value>
NB_OP void row_to_words(const Value* row, std::int64_t cols, int rounding, std::uint32_t* dst) {
  const std::int64_t words = words_of<Format>(cols), whole = cols / Format::kPerWord / 16 * 16;
  std::int64_t w = 0;
  for (; w < whole; w += 16) {
    store_word_lanes(dst + w, row_words_at<Format, true>(row, w, cols, rounding), 16);
  }
  if (w < words) {
    store_word_lanes(dst + w, row_words_at<Format, false>(row, w, cols, rounding),
                     lanes_left(words, w));
  }
}

// Weights of keys `key` (even) and key + 1 for 16 queries, lanes layout.
template <class Format>
NB_OP void store_pair(std::uint32_t* dst, std::int64_t key, Floats even, Floats odd, int rounding) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (Format::kPerWord == 2) {
    store_word_lanes(dst + key / 2 * kWidth,
                     zipped_pair(floored_to_pair(even), floored_to_pair(odd)), 16);
    return;
  }
#endif
  store_word_lanes(dst + key * kWidth, bits(word_of<Format>(even, rounding)), 16);
  store_word_lanes(dst + (key + 1) * kWidth, bits(word_of<Format>(odd, rounding)), 16);
}

// The same of bf16 numbers, in upper 16 bits.
template <class Format>
NB_OP void store_upper_pair(std::uint32_t* dst, std::int64_t key, Bits even, Bits odd) {
  if constexpr (Format::kPerWord == 2) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
    store_word_lanes(dst + key / 2 * kWidth, floored_pairs(odd | shift_right<16>(even)), 16);
#endif
  } else {
    store_pair<Format>(dst, key, floats(even), floats(odd), kRoundNone);
  }
}

NB_LOCAL_END
