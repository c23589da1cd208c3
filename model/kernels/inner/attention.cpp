// Attention of one level: blocks of queries in lanes. See attention.hpp.
#include "model/kernels/inner/attention.hpp"

#include "model/kernels/inner/attention_gradient.hpp"
#include "model/kernels/inner/attention_lanes.hpp"
#include "model/kernels/inner/attention_one.hpp"
#include "model/kernels/inner/attention_pack.hpp"
#include "model/kernels/inner/functions.hpp"

namespace nb::kernels::inner::NB_LEVEL {
namespace {

// 256 queries: dk and dv are loaded and stored once for that many steps of their chains.
constexpr int kGroup = 256 / kWidth;

// Scores of all keys from the tile of `begin` on, scaled, and the maximum over those that each
// query sees.
template <class Format>
void score_all(const AttentionForward& b, std::int64_t begin, std::int64_t keys) {
  const std::int64_t words = words_of<Format>(b.dim);
  const Floats scale = all(b.scale), nothing = floats(all_bits(0xff800000u));
  Floats best[kTileVectors];
  for (Floats& lanes : best) lanes = nothing;
  const auto tile = [&](auto vectors, std::int64_t key, int first) {
    constexpr int kVectors = decltype(vectors)::value;
    float* out = b.scores + key * kWidth + 16 * first;
    const bool masks = key + kTileRows - 1 > b.position + 16 * first || key + kTileRows > keys ||
                       key + b.window < b.position + 16 * (first + kVectors) - 1;
    attention_tile<Format, kTileRows, kVectors, false>(
        words, b.k + key * words, words, b.q + 16 * first, nullptr, 0, b.ahead,
        [&](int r, int v, Floats sum) {
          store(out + r * kWidth + 16 * v, (sum + all(0.0f)) * scale);
        });
    for (int v = 0; v < kVectors; ++v) {
      Floats top = best[first + v];
      for (int r = 0; r < kTileRows; ++r) {
        Floats z = load(out + r * kWidth + 16 * v);
        if (masks) {
          const std::int64_t position = b.position + 16 * (first + v);
          z = select(hidden_lanes(key + r, position), nothing, z);
          z = select(near_lanes(key + r, position, b.window), z, nothing);
          if (key + r >= keys) z = nothing;
        }
        top = larger_of(z, top);
      }
      best[first + v] = top;
    }
  };
  for (std::int64_t key = begin / kTileRows * kTileRows; key < keys; key += kTileRows) {
    if (kTileVectors == 2 && b.queries <= 16) {
      tile(Constant<1>(), key, 0);
    } else if (kTileVectors == 2 && key > b.position + 15) {
      tile(Constant<1>(), key, 1);
    } else {
      tile(Constant<kTileVectors>(), key, 0);
    }
  }
  for (int v = 0; v < kTileVectors; ++v) store(b.max + 16 * v, best[v]);
  for (std::int64_t i = 0; i < b.queries; ++i) {
    if (b.max[i] != 0.0f) continue;
    const std::int64_t first = b.position + i > b.window ? b.position + i - b.window : 0;
    const std::int64_t seen = b.position + i + 1;
    b.max[i] = zero_maximum(b.scores + i, first, seen < keys ? seen : keys);
  }
}

// Probabilities of all keys from `begin` on as weights, and their sums in 16 virtual lanes by key.
template <class Format>
void weigh_all(const AttentionForward& b, std::int64_t begin, std::int64_t keys) {
  for (int v = 0; v < kTileVectors && 16 * v < b.queries; ++v) {
    const std::int64_t position = b.position + 16 * v;
    const Floats max = load(b.max + 16 * v);
    const float* z = b.scores + 16 * v;
    std::uint32_t* out = b.weights + 16 * v;
    Floats sums[16];
    for (Floats& lane : sums) lane = all(0.0f);
    const auto probability = [&](std::int64_t key, bool masks) {
      Floats p = exp_of(load(z + key * kWidth) - max);
      if (masks) p = select(hidden_lanes(key, position), all(0.0f), p);
      sums[key % 16] = sums[key % 16] + p;
      return p;
    };
    const auto at_the_edge = [&](std::int64_t key) {
      Floats p = exp_of(load(z + key * kWidth) - max);
      p = select(hidden_lanes(key, position), all(0.0f), p);
      p = select(near_lanes(key, position, b.window), p, all(0.0f));
      sums[key % 16] = sums[key % 16] + p;
      return p;
    };
    const std::int64_t seen = keys < position + 16 ? keys : position + 16;
    const std::int64_t open = (keys < position + 1 ? keys : position + 1) / 2 * 2;
    std::int64_t key = begin;
    if (position + 15 > b.window) {
      const std::int64_t first = first_pair(position, b.window);
      for (; key < first; key += 2) store_pair<Format>(out, key, all(0.0f), all(0.0f), b.rounding);
      for (; key < seen && key + b.window < position + 15; key += 2) {
        const Floats even = at_the_edge(key);
        const Floats odd = key + 1 < seen ? at_the_edge(key + 1) : all(0.0f);
        store_pair<Format>(out, key, even, odd, b.rounding);
      }
    }
    for (; key < open; key += 2) {
      const Floats even = probability(key, false), odd = probability(key + 1, false);
      store_pair<Format>(out, key, even, odd, b.rounding);
    }
    for (; key < seen; key += 2) {
      const Floats even = probability(key, true);
      const Floats odd = key + 1 < seen ? probability(key + 1, true) : all(0.0f);
      store_pair<Format>(out, key, even, odd, b.rounding);
    }
    for (; key < keys; key += 2) store_pair<Format>(out, key, all(0.0f), all(0.0f), b.rounding);
    store(b.sum + 16 * v, tree_of(sums));
  }
}

// Keys that the last query of a block sees.
template <class Block>
NB_OP std::int64_t keys_seen(const Block& b) {
  return b.position + b.queries < b.keys ? b.position + b.queries : b.keys;
}

// Of the queries of a tile, the first of which stands at `position`.
template <class Format>
NB_OP WordRange words_seen(std::int64_t position, std::int64_t window, std::int64_t keys) {
  const std::int64_t seen = position + kTileRows;
  return {first_pair(position, window) / Format::kPerWord,
          words_of<Format>(seen < keys ? seen : keys)};
}

template <class Format>
void forward(const AttentionForward& b) {
  const std::int64_t keys = keys_seen(b), begin = first_pair(b.position, b.window);
  score_all<Format>(b, begin, keys);
  weigh_all<Format>(b, begin, keys);
  lanes_times_panels<Format>(
      b.queries, b.dim, b.weights, b.v, b.v_panel, b.sums, (b.dim + 15) / 16 * 16, b.ahead,
      [&](std::int64_t row) { return words_seen<Format>(b.position + row, b.window, keys); });
}

template <class Format>
void backward(const AttentionBackward& b) {
  const std::int64_t keys = keys_seen(b), words = words_of<Format>(b.dim);
  const Floats zero = all(0.0f), one_each = all(1.0f), scale = all(b.scale);
  float s[kTileRows * kWidth], dp[kTileRows * kWidth];
  const auto products = [&](auto vectors, std::int64_t key, int first) {
    constexpr int kVectors = decltype(vectors)::value;
    const auto one = [&](const std::uint32_t* rows, const std::uint32_t* lanes,
                         const auto& finish) {
      attention_tile<Format, kTileRows, kVectors, false>(
          words, rows + key * words, words, lanes + 16 * first, nullptr, 0, b.ahead, finish);
    };
    Floats special = zero;
    one(b.k, b.q, [&](int r, int v, Floats sum) {
      const Floats z = (sum + zero) * scale - load(b.max + 16 * (first + v));
      special = select(magnitude(z) < all(kOrdinaryScore), special, one_each);
      store(s + r * kWidth + 16 * (first + v), z);
    });
    one(b.v, b.dout,
        [&](int r, int v, Floats sum) { store(dp + r * kWidth + 16 * (first + v), sum); });
    if (!all_of(special < one_each)) {
      gradient_rows<Format, false, true>(b, s, dp, key, first);
    } else if (key + kTileRows - 1 > b.position + 16 * first || key + kTileRows > keys ||
               b.queries < kWidth || key + b.window < b.position + kWidth - 1) {
      gradient_rows<Format, true, true>(b, s, dp, key, first);
    } else {
      gradient_rows<Format, true, false>(b, s, dp, key, first);
    }
  };
  const std::int64_t begin = first_pair(b.position, b.window) / kTileRows * kTileRows;
  for (std::int64_t key = begin; key < keys; key += kTileRows) {
    if (kTileVectors == 2 && key > b.position + 15) {
      products(Constant<1>(), key, 1);
    } else {
      products(Constant<kTileVectors>(), key, 0);
    }
  }
  lanes_times_panels<Format>(
      b.queries, b.dim, b.weights, b.k_by_dim, b.k_panel, b.dq, (b.dim + 15) / 16 * 16, b.ahead,
      [&](std::int64_t row) { return words_seen<Format>(b.position + row, b.window, keys); });
}

template <class Format>
void over_queries(const AttentionOverQueries& t) {
  const auto tile = [&](auto vectors, std::int64_t col) {
    float* to = t.c + col;
    attention_tile<Format, kTileRows, decltype(vectors)::value, false>(
        t.words, t.a, t.a_stride, t.b + col / kWidth * t.b_panel,
        t.start == nullptr ? nullptr : t.start + col, t.c_stride, t.ahead,
        [&](int r, int v, Floats sum) { store(to + r * t.c_stride + 16 * v, sum); });
  };
  for (std::int64_t col = 0; col < t.cols; col += kWidth) {
    if (t.cols - col > 16 * (kTileVectors - 1)) {
      tile(Constant<kTileVectors>(), col);
    } else {
      tile(Constant<1>(), col);
    }
  }
}

void quotients(const float* sums, std::int64_t stride, std::int64_t rows, std::int64_t cols,
               const float* divisors, float* out, std::int64_t out_stride, int rounding) {
  with_rounding(rounding, [&](auto mode) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const Floats divisor = all(divisors[i]);
      prefetch_row_to_write(out + (i + kRowsAhead) * out_stride, rows - i - kRowsAhead, cols);
      each_group(cols, [&](std::int64_t j, int lanes) {
        const Floats x = (load(sums + i * stride + j) + all(0.0f)) / divisor;
        store_lanes(out + i * out_stride + j, rounded<decltype(mode)::value>(x), lanes);
      });
    }
  });
}

void scaled(const float* sums, std::int64_t stride, std::int64_t rows, std::int64_t cols,
            float factor, float* out, std::int64_t out_stride, int rounding) {
  const Floats f = all(factor);
  with_rounding(rounding, [&](auto mode) {
    for (std::int64_t i = 0; i < rows; ++i) {
      prefetch_row_to_write(out + (i + kRowsAhead) * out_stride, rows - i - kRowsAhead, cols);
      each_group(cols, [&](std::int64_t j, int lanes) {
        const Floats x = f * (load(sums + i * stride + j) + all(0.0f));
        store_lanes(out + i * out_stride + j, rounded<decltype(mode)::value>(x), lanes);
      });
    }
  });
}

template <class Format>
constexpr AttentionTiles tiles_of() {
  AttentionTiles tiles = {.rows = kTileRows,
                          .width = kWidth,
                          .values_per_word = Format::kPerWord,
                          .even = Format::kSwaps,
                          .group = kGroup,
                          .to_rows = to_rows<Format>,
                          .to_panels = to_panels<Format>,
                          .to_lanes = to_lanes<Format>,
                          .to_bf16 = nullptr,
                          .bf16_to_rows = nullptr,
                          .bf16_to_panels = nullptr,
                          .finite = finite<Format>,
                          .forward = forward<Format>,
                          .one = one_query<Format>,
                          .backward = backward<Format>,
                          .over_queries = over_queries<Format>,
                          .quotients = quotients,
                          .scaled = scaled};
  if constexpr (sizeof(typename Format::CachedValue) == 2) {
    tiles.to_bf16 = to_bf16<Format>;
    tiles.bf16_to_rows = bf16_to_rows<Format>;
    tiles.bf16_to_panels = bf16_to_panels<Format>;
  }
  return tiles;
}

}  // namespace

constexpr AttentionTiles kFp32Attention = tiles_of<PlainWords>();

#if NB_LEVEL_ID == NB_LEVEL_AVX512BF16
constexpr AttentionTiles kBf16Attention = tiles_of<Bf16Pairs>();
#else
constexpr AttentionTiles kBf16Attention = tiles_of<Bf16Words>();
#endif

}  // namespace nb::kernels::inner::NB_LEVEL
