// Attention at one level: what table.hpp offers beside plain products. Attention works on blocks
// of `width` queries that stand side by side in lanes; keys are the rows of the score tiles. So
// sums over keys run down the rows with all lanes busy, a tile's left operand needs no packing, and
// probabilities come out in the order in which the next products read them.
//
// Layouts, in words of 4 bytes (a bf16 pair of neighbouring values of the summed index where
// values_per_word is 2, else one value; words(n) = n values rounded up to whole words, and to an
// even number where `even` is set):
//   rows   (row, word): as in memory, rounded
//   lanes  (word, width): the summed index runs down, in its own order
#pragma once

#include <cstdint>

namespace nb::kernels::inner {

// Rows that tiles prefetch on their way, long before they are read or written: stage after stage,
// row by row of all streams of a stage.
struct RowsAhead {
  static constexpr std::int64_t kSteps = 16, kUnit = 1024;
  struct Stage {
    struct Stream {
      const char* row;  // the next one
      std::int64_t stride, bytes;
    } streams[4];
    int stream_count = 0;
    std::int64_t rows;  // left
  } stages[3];
  int stage_count = 0, stage = 0, stream = 0;
  std::int64_t rate = 0, due = 0;  // rows every kSteps steps of a tile, in 1 / kUnit
};

inline constexpr std::int64_t kNoWindow = std::int64_t{1} << 60;

// One block of queries of one head, forward.
struct AttentionForward {
  const std::uint32_t* q;  // lanes (words(dim), width): queries, zero beyond `queries`
  const std::uint32_t* k;  // rows (keys padded to AttentionTiles::rows, words(dim))
  const std::uint32_t* v;  // lanes: panels of `width` columns of V, (words(keys), width) each
  std::int64_t v_panel;    // words from one panel of v to the next
  std::int64_t dim;
  std::int64_t queries;   // 1 to width
  std::int64_t position;  // of the first query; keys up to position + queries - 1 are seen
  std::int64_t keys;      // that there are; all are seen where fewer
  std::int64_t window;    // keys before its own that a query sees; kNoWindow: all
  float scale;
  int rounding;            // of the inputs
  float* scores;           // (keys padded, width); before the window nothing is touched
  std::uint32_t* weights;  // lanes (words(keys), width), the same
  float* sums;             // out: (width, dim padded to 16): chains of p·v, nothing added
  float* max;              // out: (width)
  float* sum;              // out: (width)
  RowsAhead* ahead;        // or null
};

// One block of queries of one head, backward: from the scores' products to p, ds and dq.
struct AttentionBackward {
  const std::uint32_t* q;         // lanes (words(dim), width)
  const std::uint32_t* dout;      // the same
  const std::uint32_t* k;         // rows (keys padded, words(dim))
  const std::uint32_t* v;         // the same
  const std::uint32_t* k_by_dim;  // lanes: panels of `width` columns of K, (words(keys), width)
  std::int64_t k_panel;           // words from one panel of k_by_dim to the next
  std::int64_t dim;
  std::int64_t queries;
  std::int64_t position;
  std::int64_t keys;
  std::int64_t window;
  float scale;
  int rounding;
  const float* max;    // (width); beyond `queries` anything
  const float* sum;    // (width)
  const float* delta;  // (width)
  std::uint32_t* p;    // out: rows (keys padded, row_words): words of this block's queries, 0 where
                       // masked; not written for whole vectors of 16 queries that see nothing, nor
                       // for tiles of keys that nobody sees
  std::uint32_t* ds;   // out: the same
  std::int64_t row_words;
  std::uint32_t* weights;  // scratch: lanes (words(keys), width)
  float* dq;               // out: (width, dim padded to 16): chains of ds·k, nothing added
  RowsAhead* ahead;        // or null
};

// One tile of `rows` keys over queries: c (rows, cols padded to 16) = chains of a and b.
struct AttentionOverQueries {
  std::int64_t cols, words;
  const std::uint32_t* a;  // rows layout, a_stride words from one to the next
  std::int64_t a_stride;
  const std::uint32_t* b;  // lanes: panels of `width` columns
  std::int64_t b_panel;    // words from one to the next
  const float* start;      // sums that the chains continue from, or null: +0
  float* c;
  std::int64_t c_stride;  // of start too
  RowsAhead* ahead;       // or null
};

// Keys of a query whose scores are computed side by side.
inline constexpr std::int64_t kKeysAtOnce = 64;

// Rows of keys and values of one head, where they lie: (keys) pointers each, and more that may be
// read (anything there is of no effect) to a multiple of kKeysAtOnce. fp32 values, or, where bf16
// is the input format, bf16 (numbers in two bytes).
struct HeadPointers {
  const void* const* k = nullptr;
  const void* const* v = nullptr;
  std::int64_t keys = 0;
};

// One query of one head: decoding.
struct AttentionOne {
  const float* q;     // (dim)
  HeadPointers now;   // what it sees: at least one key, and `hidden` ones before
  HeadPointers next;  // what will be read after this query, or nothing: asked for meanwhile
  std::int64_t dim;
  std::int64_t hidden;  // fewer than 16 keys in front of its window; their values are zeros
  float scale;
  int rounding;
  float* scores;         // scratch: keys + kKeysAtOnce
  std::uint32_t* words;  // scratch: dim + keys + 32
  float* sums;           // out: (dim padded to 16): chains of p·v, nothing added
  float* max;            // out: one value
  float* sum;            // out: one value
};

struct AttentionTiles {
  int rows;   // of a score tile: keys are padded to a multiple of it
  int width;  // queries of a block, columns of a panel
  int values_per_word;
  bool even;
  int group;  // blocks of queries whose p and ds are kept for one pass over dk and dv

  // rows layout: dst (padded, words(cols)), zero beyond count and cols
  void (*to_rows)(const float* src, std::int64_t stride, std::int64_t count, std::int64_t padded,
                  std::int64_t cols, int rounding, std::uint32_t* dst);
  // lanes layout: panels of `width` columns of src (rows, cols), each (words(rows), width), `panel`
  // words apart, zero beyond
  void (*to_panels)(const float* src, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                    int rounding, std::uint32_t* dst, std::int64_t panel);
  // lanes layout: dst (words(cols), width): rows of src, at most `width`, side by side; zero beyond
  void (*to_lanes)(const float* src, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                   int rounding, std::uint32_t* dst);
  // Rounded and floored as inputs of bf16 products; null for other formats. Then rows and lanes
  // from any bf16, floored there too.
  void (*to_bf16)(const float* src, std::int64_t count, std::uint16_t* dst);
  void (*bf16_to_rows)(const std::uint16_t* src, std::int64_t stride, std::int64_t count,
                       std::int64_t padded, std::int64_t cols, std::uint32_t* dst);
  void (*bf16_to_panels)(const std::uint16_t* src, std::int64_t stride, std::int64_t rows,
                         std::int64_t cols, std::uint32_t* dst, std::int64_t panel);
  bool (*finite)(const std::uint32_t* words, std::int64_t count);  // no word holds inf or NaN
  void (*forward)(const AttentionForward& block);
  void (*one)(const AttentionOne& query);
  void (*backward)(const AttentionBackward& block);
  void (*over_queries)(const AttentionOverQueries& tile);
  // out (rows, cols) = round((sums + 0) / divisor of the row), or round(factor * (sums + 0)).
  void (*quotients)(const float* sums, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                    const float* divisors, float* out, std::int64_t out_stride, int rounding);
  void (*scaled)(const float* sums, std::int64_t stride, std::int64_t rows, std::int64_t cols,
                 float factor, float* out, std::int64_t out_stride, int rounding);
};

}  // namespace nb::kernels::inner
