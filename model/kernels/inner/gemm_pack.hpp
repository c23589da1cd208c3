// Packing of matrix products' operands, for any format whose words a Words functor makes. The left
// operand becomes rows of words (each broadcast to all columns), the right one panels of columns.
// Meanings: gemm.hpp.
#pragma once

#include "model/kernels/inner/vec.hpp"

NB_LOCAL_BEGIN

NB_OP void store_all(std::uint32_t* dst, Bits x) {
  store(reinterpret_cast<float*>(dst), floats(x));
}

// Rows of words of a source whose k lies along its rows. words(r, step): the 16 words of row r from
// that step on, zero beyond its end. words.whole(r, step): the same where all 16 are there.
template <class Words>
NB_OP void rows_from_rows(std::int64_t rows, std::int64_t steps, bool swaps, std::uint32_t* dst,
                          const Words& words) {
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint32_t* to = dst + r * kGemmRowWords;
    std::int64_t s = 0;
    if constexpr (requires { words.whole(r, s); }) {
      const std::int64_t whole = words.whole_steps() < steps ? words.whole_steps() : steps;
      if (swaps) {
        for (; s + 16 <= whole; s += 16) store_all(to + s, swap_pairs(words.whole(r, s)));
      } else {
        for (; s + 16 <= whole; s += 16) store_all(to + s, words.whole(r, s));
      }
    }
    for (; s < steps; s += 16) {
      const Bits x = words(r, s);
      store_all(to + s, swaps ? swap_pairs(x) : x);
    }
  }
}

// Rows of words of a source whose k lies across its rows: blocks of 16 × 16 words are transposed.
// words(r, lanes, step): the words of rows r … r + lanes - 1 at that step, the others zero; all are
// zero beyond the source's end.
template <class Words>
NB_OP void rows_from_columns(std::int64_t rows, std::int64_t steps, bool swaps, std::uint32_t* dst,
                             const Words& words) {
  for (std::int64_t s = 0; s < steps; s += 16) {
    for (std::int64_t first = 0; first < rows; first += 16) {
      const int used = lanes_left(rows, first);
      std::uint32_t* to = dst + first * kGemmRowWords + s;
      Bits block[16];
      if (used == 16 && s + 16 <= words.whole_steps()) {
        auto from = words.at(first, s);
#pragma GCC unroll 16
        for (int j = 0; j < 16; ++j) {
          block[j] = words.whole(from);
          from += words.next();
          asm volatile("" : "+r"(from));  // one pointer that moves, not one for each row
        }
        transpose(block);
#pragma GCC unroll 16
        for (int r = 0; r < 16; ++r) {
          store_all(to + r * kGemmRowWords, swaps ? swap_pairs(block[r]) : block[r]);
        }
      } else {
        for (int j = 0; j < 16; ++j) block[j] = words(first, used, s + j);
        transpose(block);
        for (int r = 0; r < used; ++r) {
          store_all(to + r * kGemmRowWords, swaps ? swap_pairs(block[r]) : block[r]);
        }
      }
    }
  }
}

// Panels of a source whose k lies along its rows: blocks of 16 × 16 words are transposed.
// words(c, step): as in rows_from_rows, of column c.
template <class Words>
NB_OP void panels_from_rows(std::int64_t columns, int width, std::int64_t steps, bool swaps,
                            std::int64_t panel_words, std::uint32_t* dst, const Words& words) {
  for (std::int64_t first = 0; first < columns; first += 16) {
    const int used = lanes_left(columns, first);
    std::uint32_t* to = dst + first / width * panel_words + first % width;
    for (std::int64_t s = 0; s < steps; s += 16) {
      Bits block[16];
      if (used == 16) {
#pragma GCC unroll 16
        for (int c = 0; c < 16; ++c) block[c] = words(first + c, s);
      } else {
        for (int c = 0; c < 16; ++c) block[c] = c < used ? words(first + c, s) : all_bits(0u);
      }
      transpose(block);
      const int count = lanes_left(steps, s);
      if (count == 16) {
#pragma GCC unroll 16
        for (int j = 0; j < 16; ++j) store_all(to + (s + (swaps ? j ^ 1 : j)) * width, block[j]);
      } else {
        for (int j = 0; j < count; ++j) {
          store_all(to + (s + (swaps ? j ^ 1 : j)) * width, block[j]);
        }
      }
    }
  }
}

// Panels of a source whose k lies across its rows. words(c, lanes, step): as in rows_from_columns,
// of columns.
template <class Words>
NB_OP void panels_from_columns(std::int64_t columns, int width, std::int64_t steps, bool swaps,
                               std::int64_t panel_words, std::uint32_t* dst, const Words& words) {
  constexpr std::int64_t kAhead = 8;
  const std::int64_t below = words.next() > words.stride ? words.stride : 0;
  for (std::int64_t s = 0; s < steps; ++s) {
    std::uint32_t* const at = dst + (swaps ? s ^ 1 : s) * width;
    std::int64_t first = 0;
    if (s < words.whole_steps()) {
      if (s + kAhead < words.whole_steps()) {
        const auto ahead = words.at(0, s + kAhead);
        for (std::int64_t c = 0; c < columns; c += 16) {
          __builtin_prefetch(ahead + c);
          if (below > 0) __builtin_prefetch(ahead + c + below);
        }
      }
      const auto from = words.at(0, s);
      std::uint32_t* to = at;
      for (; first + width <= columns; first += width, to += panel_words) {
#pragma GCC unroll 2
        for (int v = 0; v < width; v += 16) store_all(to + v, words.whole(from + first + v));
      }
    }
    for (; first < columns; first += 16) {
      store_all(at + first / width * panel_words + first % width,
                words(first, lanes_left(columns, first), s));
    }
  }
}

// Clears the columns that the last panel has and the matrix has not.
NB_OP void clear_columns(std::int64_t columns, int width, std::int64_t steps,
                         std::int64_t panel_words, std::uint32_t* dst) {
  for (std::int64_t first = (columns + 15) / 16 * 16; first % width != 0; first += 16) {
    for (std::int64_t s = 0; s < steps; ++s) {
      store_all(dst + first / width * panel_words + first % width + s * width, all_bits(0u));
    }
  }
}

NB_LOCAL_END
