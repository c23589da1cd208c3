// One query over its keys: lanes are keys for the scores (sixteen rows transposed at a time), then
// columns of V for the result. Bound by reading K and V.
#pragma once

#include "model/kernels/inner/attention_lanes.hpp"
#include "model/kernels/inner/functions.hpp"

NB_LOCAL_BEGIN

template <class Format>
NB_OP const typename Format::CachedValue* cached_row(const void* row) {
  return static_cast<const typename Format::CachedValue*>(row);
}

// bf16 numbers lie two in a word; where the format has one per word, they are split after they are
// transposed.
template <class Format>
constexpr bool kSplits = sizeof(typename Format::CachedValue) == 2 && Format::kPerWord == 1;

NB_OP Bits even_bf16(Bits words) { return shift_left<16>(words); }
NB_OP Bits odd_bf16(Bits words) { return words & all_bits(0xffff0000u); }

// Of a prefetch: the caches that its line comes to.
constexpr int kInL1 = 3, kInL2 = 2;

// Sixteen lines of a cache: values of sixteen keys, transposed.
struct Transposed {
  Bits words[16];
};

// Values d, d + 1, … of sixteen keys. The row that is `next` to be read instead of each is asked
// for on the way: rows may lie apart. In L2: in L1 it would push out what is read before it.
template <class Format, bool kWhole>
NB_OP void transpose_keys(const AttentionOne& b, const void* const* rows, const void* const* next,
                          std::int64_t d, Transposed& to) {
  Bits block[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) {
    const auto* row = cached_row<Format>(rows[r]);
    if constexpr (kSplits<Format>) {
      block[r] = words_of_bf16<kWhole>(row + d, b.dim - d);
    } else {
      block[r] = row_words_at<Format, kWhole>(row, d / Format::kPerWord, b.dim, b.rounding);
    }
    __builtin_prefetch(cached_row<Format>(next[r]) + d, 0, kInL2);
  }
  transpose(block);
#pragma GCC unroll 16
  for (int s = 0; s < 16; ++s) to.words[s] = block[s];
}

// The chains of 16 · kGroups keys go on by `count` words of a value or two, side by side: a chain
// alone would wait for itself.
template <class Format, int kGroups>
NB_OP void extend(const Transposed* transposed, const std::uint32_t* q, std::int64_t count,
                  float* scores) {
  Floats sum[kGroups];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) sum[g] = load(scores + 16 * g);
  const auto step = [&](const std::uint32_t* weight, const auto& word) {
    const Bits x = all_bits_at(weight);
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) sum[g] = Format::step(x, word(transposed[g]), sum[g]);
  };
  for (std::int64_t s = 0; s < count; ++s) {
    if constexpr (kSplits<Format>) {
      static_assert(Format::kSwaps);  // the odd value of a pair first
      step(q + 2 * s + 1, [&](const Transposed& t) { return odd_bf16(t.words[s]); });
      step(q + 2 * s, [&](const Transposed& t) { return even_bf16(t.words[s]); });
    } else {
      static_assert(!Format::kSwaps);
      step(q + s, [&](const Transposed& t) { return t.words[s]; });
    }
  }
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) store(scores + 16 * g, sum[g]);
}

// All chains of 16 · kGroups keys.
template <class Format, int kGroups>
NB_OP void score_groups(const AttentionOne& b, const void* const* rows, const void* const* next,
                        float* scores) {
  constexpr std::int64_t kTransposed = 16 * (kSplits<Format> ? 2 : Format::kPerWord);  // values
  Transposed transposed[kGroups];
  const auto some = [&](auto whole, std::int64_t d) {
    for (int g = 0; g < kGroups; ++g)
      transpose_keys<Format, decltype(whole)::value>(b, rows + 16 * g, next + 16 * g, d,
                                                     transposed[g]);
    const std::int64_t left = b.dim - d < kTransposed ? b.dim - d : kTransposed;
    const std::int64_t count = kSplits<Format> ? (left + 1) / 2 : words_of<Format>(left);
    extend<Format, kGroups>(transposed, b.words + d / Format::kPerWord, count, scores);
  };
  for (int g = 0; g < kGroups; ++g) store(scores + 16 * g, all(0.0f));
  std::int64_t d = 0;
  for (; d + kTransposed <= b.dim; d += kTransposed) some(Constant<true>(), d);
  if (d < b.dim) some(Constant<false>(), d);
}

// Whether row after row of the next query's keys and values is asked for while this one's are at
// work: both fit into L2, and what comes from memory has a whole query's time to come.
NB_OP bool asks_for_all_of_next(const AttentionOne& b) {
  constexpr std::int64_t kMaxKeys = 256;
  return b.next.keys > 0 && b.next.keys <= kMaxKeys && b.now.keys <= kMaxKeys;
}

template <class Format>
void one_scores(const AttentionOne& b) {
  for (std::int64_t key = 0; key < b.now.keys; key += kKeysAtOnce) {
    const std::int64_t end = key + kKeysAtOnce < b.now.keys ? key + kKeysAtOnce : b.now.keys;
    // What is read next: the keys behind these, at last the first rows of V.
    const void* const* next = end < b.now.keys ? b.now.k + end : b.now.v;
    if (asks_for_all_of_next(b)) next = key < b.next.keys ? b.next.k + key : b.now.k + key;
    const auto groups = [&](auto count) {
      score_groups<Format, decltype(count)::value>(b, b.now.k + key, next, b.scores + key);
    };
    switch ((end - key + 15) / 16) {
      case 1:
        groups(Constant<1>());
        break;
      case 2:
        groups(Constant<2>());
        break;
      case 3:
        groups(Constant<3>());
        break;
      default:
        groups(Constant<4>());
    }
  }
}

// Asks for `kCols` values of rows key and key + 1.
template <class Format, int kCols, int kWhere>
NB_OP void prefetch_two(const void* const* rows, std::int64_t count, std::int64_t key,
                        std::int64_t col) {
  constexpr int kLine = 64 / sizeof(typename Format::CachedValue);
  if (key >= count) return;
  const auto* even = cached_row<Format>(rows[key]) + col;
  const auto* odd = cached_row<Format>(rows[key + 1 < count ? key + 1 : key]) + col;
#pragma GCC unroll 8
  for (int i = 0; i < kCols; i += kLine) {
    __builtin_prefetch(even + i, 0, kWhere);
    __builtin_prefetch(odd + i, 0, kWhere);
  }
}

// Asks for what will be read after rows `key` and key + 1 of the columns [col, col + kCols) of V.
// The scores have asked for the first rows of it.
template <class Format, int kCols>
NB_OP void prefetch_after(const AttentionOne& b, std::int64_t key, std::int64_t col) {
  constexpr std::int64_t kAhead = 12;
  if (key + kAhead >= kKeysAtOnce) {
    prefetch_two<Format, kCols, kInL1>(b.now.v, b.now.keys, key + kAhead, col);
  }
  const void* const* next = asks_for_all_of_next(b) ? b.next.v : b.next.k;
  prefetch_two<Format, kCols, kInL2>(next, b.next.keys, key, col);
}

// kVectors · 16 columns from `col` on; the last vector has `lanes`.
template <class Format, int kVectors>
NB_OP void one_columns(const AttentionOne& b, const std::uint32_t* p, std::int64_t col, int lanes) {
  Floats acc[kVectors];
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) acc[v] = all(0.0f);
  for (std::int64_t key = 0; key < b.now.keys; key += 2) {
    const bool both = key + 1 < b.now.keys;
    const auto* even = cached_row<Format>(b.now.v[key]) + col;
    const auto* odd = cached_row<Format>(b.now.v[both ? key + 1 : key]) + col;
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

// 32 · kGroups columns of bf16, the even ones apart from the odd ones.
template <class Format, int kGroups>
NB_OP void one_columns_of_bf16(const AttentionOne& b, const std::uint32_t* p, std::int64_t col) {
  static_assert(Format::kSwaps);  // the odd key of a pair first
  Floats acc[kGroups][2];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) acc[g][0] = acc[g][1] = all(0.0f);
  const auto two_keys = [&](std::int64_t key, const std::uint16_t* even, const std::uint16_t* odd) {
    prefetch_after<Format, 32 * kGroups>(b, key, col);
    const Bits first = all_bits_at(p + key), second = all_bits_at(p + key + 1);
#pragma GCC unroll 4
    for (int g = 0; g < kGroups; ++g) {
      const Bits y = odd != nullptr ? words_of_bf16<true>(odd + 32 * g, 32) : all_bits(0u);
      acc[g][0] = Format::step(second, even_bf16(y), acc[g][0]);
      acc[g][1] = Format::step(second, odd_bf16(y), acc[g][1]);
      const Bits x = words_of_bf16<true>(even + 32 * g, 32);
      acc[g][0] = Format::step(first, even_bf16(x), acc[g][0]);
      acc[g][1] = Format::step(first, odd_bf16(x), acc[g][1]);
    }
  };
  const auto row = [&](std::int64_t key) { return cached_row<Format>(b.now.v[key]) + col; };
  std::int64_t key = 0;
  for (; key + 1 < b.now.keys; key += 2) two_keys(key, row(key), row(key + 1));
  if (key < b.now.keys) two_keys(key, row(key), nullptr);
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) store_zipped(b.sums + col + 32 * g, acc[g][0], acc[g][1]);
}

#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
// 32 · kGroups columns of bf16: two rows are zipped within quarters of a register, which leaves
// the columns in an order that the end puts right.
template <int kGroups>
NB_OP void one_columns_of_pairs(const AttentionOne& b, const std::uint32_t* p, std::int64_t col) {
  Floats acc[kGroups][2];
#pragma GCC unroll 4
  for (int g = 0; g < kGroups; ++g) acc[g][0] = acc[g][1] = all(0.0f);
  for (std::int64_t key = 0; key < b.now.keys; key += 2) {
    const bool both = key + 1 < b.now.keys;
    const std::uint16_t* even = cached_row<Bf16Pairs>(b.now.v[key]) + col;
    const std::uint16_t* odd = cached_row<Bf16Pairs>(b.now.v[both ? key + 1 : key]) + col;
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
  // Whatever the scale's sign: exp(z - max) is +0.
  const float nothing = b.scale < 0.0f ? __builtin_inff() : -__builtin_inff();
  for (std::int64_t j = 0; j < b.hidden; ++j) b.scores[j] = nothing;
  softmax(b.scores, b.now.keys, b.scale, b.max, b.sum);
  row_to_words<Format>(b.scores, b.now.keys, b.rounding, b.words);
  std::int64_t col = 0;
#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
  if constexpr (Format::kPerWord == 2) {
    for (; col + 128 <= b.dim; col += 128) one_columns_of_pairs<4>(b, b.words, col);
    for (; col + 32 <= b.dim; col += 32) one_columns_of_pairs<1>(b, b.words, col);
  }
#endif
  constexpr int kVectors = 4 * kTileVectors;
  if constexpr (kSplits<Format>) {
    constexpr int kGroups = kVectors / 2;
    for (; col + 32 * kGroups <= b.dim; col += 32 * kGroups) {
      one_columns_of_bf16<Format, kGroups>(b, b.words, col);
    }
  } else {
    for (; col + 16 * kVectors <= b.dim; col += 16 * kVectors) {
      one_columns<Format, kVectors>(b, b.words, col, 16);
    }
  }
  for (; col < b.dim; col += 16) one_columns<Format, 1>(b, b.words, col, lanes_left(b.dim, col));
}

NB_LOCAL_END
