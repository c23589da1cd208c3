// Whole matrix products at one level: what table.hpp offers of them.
//
// 1. Operands are packed into words of 4 bytes. A word is one fp32 value of k, or, where
//    values_per_step is 2, a bf16 pair: the even k in the lower half, the odd k in the upper one.
//    Rounding, the floor and the order of k (`swaps`) happen here and nowhere else.
// 2. A step of a tile is one word of every row times one word of every column. Steps run in
//    ascending order, so a tile is one ascending chain per element.
// 3. A tile continues from `start`, adds `add`, then finishes. Whoever cuts a chain gives the sums
//    of one tile to the next as its start.
// 4. Between its steps a tile may prefetch (Fetch) and pack (Conversion). Neither changes its
//    sums.
#pragma once

#include <cstdint>

namespace nb::kernels::inner {

// What becomes of a tile's sums. All but kFinishRaw add +0 first; the Add ones are added to C.
enum TileFinish : int { kFinishRaw, kFinishFp32, kFinishBf16, kFinishFp32Add, kFinishBf16Add };

// Memory that tiles prefetch long before its use: runs of bytes, `stride` from the start of one to
// the start of the next. With every burst of steps (Gemm::burst) a tile prefetches the lines of the
// next `step` bytes from `at` on. A Fetch has no end: later tiles go on with what lies behind.
struct Fetch {
  const char* at;   // or null: nothing
  const char* end;  // of the run
  std::int64_t step, stride;
  std::int64_t jump;  // from the end of a run to the next one
};
inline constexpr std::int64_t kMaxFetched = 2048;  // of `step`
inline constexpr int kFetches = 2;                 // at once

// Packing that tiles do where the level can (Gemm::converts). With every burst of steps a tile
// makes 32 consecutive words, 16 of them from `from` and 16 from `other` bytes behind it. Sixteen
// words are made of 16 values of each of two rows, `second` bytes apart (across), or of 32 values
// of one row, fp32 or bf16 (along). Within a run, 32 words follow the 32 before at a distance of
// `next` bytes of the source and `to_next` words; from the end of a run to the next run it is
// `jump` bytes and `to_jump` words.
enum class Converts { kNothing, kAcross, kAlong, kBf16Along };
struct Conversion {
  Converts what;
  const char* from;
  std::int64_t other;  // bytes from the first 16 words' to the last 16 words' source
  std::int64_t next, jump;
  std::uint32_t* to;
  std::int64_t to_next, to_jump;
  std::int64_t run, in_run;  // of a run, and left of it
  std::int64_t left;         // of all
  std::int64_t second;
};
// Tiles of fewer rows convert nothing.
inline constexpr int kMinConvertingRows = 7;

// One register tile of a Gemm: `rows` rows, 16 columns a vector.
struct GemmTile {
  std::int64_t steps;
  // Row r, step s: a[r * kGemmRowWords + s]; of tile_transposed: a[s * cols + r].
  const std::uint32_t* a;
  const std::uint32_t* b;  // of a panel's first column, from the tile's first step on
  std::int64_t b_panel;    // words to the same step of the next panel
  const float* start;      // sums that the chain continues from, or null: +0
  std::int64_t start_stride;
  const float* add;  // then added: add + sum; or null
  std::int64_t add_stride;
  float* out;
  std::int64_t out_stride;
  int finish;                        // TileFinish; the Add ones: out += the finished sum
  Fetch* fetch[kFetches] = {};       // or null
  Conversion* conversion = nullptr;  // or null
};

inline constexpr std::int64_t kGemmSteps = 256;     // most steps of one block of rows
inline constexpr std::int64_t kGemmRowWords = 272;  // of a row; no power of two, for L1's sets

// The right operand of a product is panels: step by step, `cols` words. The left operand is rows of
// words, the steps of a row one after the other and each row kGemmRowWords long, or panels too
// (tile_transposed).
struct Gemm {
  int rows;             // most rows of a tile
  int cols;             // of a panel, a multiple of 16
  int values_per_step;  // 1 or 2
  int vectors[13];      // most vectors of a tile, by its rows
  std::int64_t burst;   // steps in a row, between which a tile asks for memory and converts
  // Rows of words of the source elements (p, k) = src[p * stride + k]. swaps: k goes to step k ^ 1
  // (values_per_step 1 only; steps is even). steps: as many as k_count needs.
  void (*pack_rows)(const float* src, std::int64_t stride, std::int64_t rows, std::int64_t k_count,
                    std::int64_t steps, int rounding, bool swaps, std::uint32_t* dst);
  // The same of a source whose k lies across its rows: (p, k) = src[p + k * stride].
  void (*pack_transposed_rows)(const float* src, std::int64_t stride, std::int64_t rows,
                               std::int64_t k_count, std::int64_t steps, int rounding, bool swaps,
                               std::uint32_t* dst);
  // Panels of the source elements (p, k) = src[p * stride + k] where from_rows, else
  // src[p + k * stride]. Columns that the last panel has and the source has not become zero.
  void (*pack_panels)(const float* src, std::int64_t stride, bool from_rows, std::int64_t columns,
                      std::int64_t k_count, std::int64_t steps, int rounding, bool swaps,
                      std::int64_t panel_words, std::uint32_t* dst);
  // The same of bf16 (numbers in two bytes), where the format is bf16. Panels: of a source
  // whose k lies across its rows.
  void (*pack_rows_of_bf16)(const std::uint16_t* src, std::int64_t stride, std::int64_t rows,
                            std::int64_t k_count, std::int64_t steps, bool swaps,
                            std::uint32_t* dst);
  void (*pack_transposed_rows_of_bf16)(const std::uint16_t* src, std::int64_t stride,
                                       std::int64_t rows, std::int64_t k_count, std::int64_t steps,
                                       bool swaps, std::uint32_t* dst);
  void (*pack_panels_of_bf16)(const std::uint16_t* src, std::int64_t stride, std::int64_t columns,
                              std::int64_t k_count, std::int64_t steps, bool swaps,
                              std::int64_t panel_words, std::uint32_t* dst);
  // rows: 1 to Gemm::rows. vectors: 1, or vectors[rows], or, where that is more, cols / 16.
  void (*tile)(int rows, int vectors, const GemmTile& tile);
  void (*tile_transposed)(int rows, int vectors, const GemmTile& tile);  // vectors <= cols / 16
  // Tiles do Conversions.
  bool converts;
  // The arithmetic of a tile out of registers alone: the level's peak, for benchmarks. values: 16
  // floats, in and out.
  void (*spin)(std::int64_t steps, float* values);
};

}  // namespace nb::kernels::inner
