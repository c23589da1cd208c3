// How attention's operands become words: rows, lanes, panels. Meanings: attention.hpp.
#pragma once

#include "model/kernels/inner/attention_lanes.hpp"

NB_LOCAL_BEGIN

template <class Format, class Value>
NB_OP void make_rows(const Value* src, std::int64_t stride, std::int64_t count, std::int64_t padded,
                     std::int64_t cols, int rounding, std::uint32_t* dst) {
  const std::int64_t words = words_of<Format>(cols);
  for (std::int64_t i = 0; i < count; ++i) {
    prefetch_row(src + (i + kRowsAhead) * stride, count - i - kRowsAhead, cols);
    row_to_words<Format>(src + i * stride, cols, rounding, dst + i * words);
  }
  const std::int64_t size = padded * words;
  for (std::int64_t i = count * words; i < size; i += 16) {
    store_word_lanes(dst + i, all_bits(0u), lanes_left(size, i));
  }
}

// columns(even, whole, lanes, row, to): sixteen columns of rows `row` and, if whole, row + 1.
template <class Value, class Columns>
NB_OP void make_panels(const Value* src, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                       std::uint32_t* dst, std::int64_t panel, const Columns& columns) {
  const std::int64_t padded = (cols + kWidth - 1) / kWidth * kWidth;
  for (std::int64_t row = 0; row < rows; row += 2) {
    const Value* even = src + row * stride;
    const bool whole = row + 1 < rows;
    prefetch_row(even + kRowsAhead * stride, rows - row - kRowsAhead, cols);
    prefetch_row(even + (kRowsAhead + 1) * stride, rows - row - kRowsAhead - 1, cols);
    const auto sixteen = [&](std::int64_t col, int lanes) {
      columns(even + col, whole, lanes, row, dst + col / kWidth * panel + col % kWidth);
    };
    std::int64_t col = 0;
    for (; col + 16 <= cols; col += 16) sixteen(col, 16);
    for (; col < padded; col += 16) sixteen(col, clamped(cols - col));
  }
}

template <class Format>
[[maybe_unused]] void to_rows(const float* src, std::int64_t stride, std::int64_t count,
                              std::int64_t padded, std::int64_t cols, int rounding,
                              std::uint32_t* dst) {
  make_rows<Format>(src, stride, count, padded, cols, rounding, dst);
}

template <class Format>
[[maybe_unused]] void to_panels(const float* src, std::int64_t stride, std::int64_t rows,
                                std::int64_t cols, int rounding, std::uint32_t* dst,
                                std::int64_t panel) {
  make_panels(src, stride, rows, cols, dst, panel,
              [&](const float* even, bool whole, int lanes, std::int64_t row, std::uint32_t* to) {
                const Floats low = load_lanes(even, lanes);
                const Floats high = whole ? load_lanes(even + stride, lanes) : all(0.0f);
                if (whole || Format::kPerWord == 2 || Format::kSwaps) {
                  store_pair<Format>(to, row, low, high, rounding);
                } else {
                  store_word_lanes(to + row * kWidth, bits(word_of<Format>(low, rounding)), 16);
                }
              });
}

template <class Format>
[[maybe_unused]] void to_lanes(const float* src, std::int64_t stride, std::int64_t rows,
                               std::int64_t cols, int rounding, std::uint32_t* dst) {
  const std::int64_t words = words_of<Format>(cols), whole = cols / Format::kPerWord / 16 * 16;
  for (std::int64_t first = 0; first < kWidth; first += 16) {
    const int used = clamped(rows - first);
    const auto sixteen = [&](auto is_whole, std::int64_t w) {
      constexpr bool kWhole = decltype(is_whole)::value != 0;
      Bits block[16];
#pragma GCC unroll 16
      for (int r = 0; r < 16; ++r) {
        block[r] = r < used
                       ? row_words_at<Format, kWhole>(src + (first + r) * stride, w, cols, rounding)
                       : all_bits(0u);
      }
      transpose(block);
      const int count = lanes_left(words, w);
      for (int j = 0; j < count; ++j) {
        store_word_lanes(dst + (w + j) * kWidth + first, block[j], 16);
      }
    };
    std::int64_t w = 0;
    for (; w < whole; w += 16) sixteen(Constant<1>(), w);
    if (w < words) sixteen(Constant<0>(), w);
  }
}

template <class Format>
[[maybe_unused]] void to_bf16(const float* src, std::int64_t count, std::uint16_t* dst) {
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  for (; count >= 32; count -= 32, src += 32, dst += 32) {
    store(reinterpret_cast<float*>(dst), floats(row_words_at<Format, true>(src, 0, 32, 0)));
  }
#endif
  each_group(count, [&](std::int64_t i, int lanes) {
    const Floats x = rounded<kRoundBf16Floor>(load_lanes(src + i, lanes));
    store_upper_lanes(dst + i, bits(x), lanes);
  });
}

template <class Format>
[[maybe_unused]] void bf16_to_rows(const std::uint16_t* src, std::int64_t stride,
                                   std::int64_t count, std::int64_t padded, std::int64_t cols,
                                   std::uint32_t* dst) {
  make_rows<Format>(src, stride, count, padded, cols, kRoundNone, dst);
}

template <class Format>
[[maybe_unused]] void bf16_to_panels(const std::uint16_t* src, std::int64_t stride,
                                     std::int64_t rows, std::int64_t cols, std::uint32_t* dst,
                                     std::int64_t panel) {
  make_panels(
      src, stride, rows, cols, dst, panel,
      [&](const std::uint16_t* even, bool whole, int lanes, std::int64_t row, std::uint32_t* to) {
        const Bits low = load_upper_lanes(even, lanes);
        const Bits high = whole ? load_upper_lanes(even + stride, lanes) : all_bits(0u);
        store_upper_pair<Format>(to, row, low, high);
      });
}

template <class Format>
[[maybe_unused]] bool finite(const std::uint32_t* words, std::int64_t count) {
  // An exponent of ones carries into the sign when one is added to it.
  constexpr std::uint32_t kPair = Format::kPerWord == 2 ? 1u : 0u;
  const Bits exponent = all_bits(0x7f800000u | kPair * 0x7f80u);
  const Bits one = all_bits(0x00800000u | kPair * 0x0080u);
  Bits carries = all_bits(0u);
  each_group(count, [&](std::int64_t i, int lanes) {
    const Bits x = bits(load_lanes(reinterpret_cast<const float*>(words) + i, lanes));
    carries = carries | ((x & exponent) + one);
  });
  float lane[16];
  store(lane, floats(carries & all_bits(0x80000000u | kPair * 0x8000u)));
  std::uint32_t any = 0;
  for (const float& x : lane) any |= __builtin_bit_cast(std::uint32_t, x);
  return any == 0;
}

NB_LOCAL_END
