// Whole matrix products at one level: what table.hpp offers of them.
#pragma once

#include <cstdint>

namespace nb::kernels::inner {

// What becomes of a tile's sums. All but kFinishRaw add +0 first.
enum TileFinish : int { kFinishRaw, kFinishFp32, kFinishBf16, kFinishFp32Add, kFinishBf16Add };

// Memory that tiles ask for on their way, long before its use: runs of bytes, `stride` from the
// start of one to the next. With every burst (Gemm::burst) the lines of `step` bytes from `at` on.
// Nothing ends it: later tiles ask for what lies behind.
struct Fetch {
  const char* at;   // or null: nothing
  const char* end;  // of the run
  std::int64_t step, stride;
  std::int64_t jump;  // from the end of a run to the next one
};
inline constexpr std::int64_t kMaxFetched = 2048;  // of `step`
inline constexpr int kFetches = 2;                 // at once

// Packing that tiles do on their way, where the level can (Gemm::converts): 32 words with every
// burst, from two places of a source to 32 consecutive words. A run of them lies `next`
// bytes of the source and `to_next` words apart; then those of the run that begins `jump` and
// `to_jump` after its last. 16 words are made of 16 values of each of two rows, `second` bytes
// apart (across), or of 32 values, or bf16, of one row (along).
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

// A product whose right operand is panels: step by step, `cols` words. The left operand is rows of
// words (their steps one after the other, each row kGemmRowWords long) or, where k lies across its
// source's rows, panels too. A word is one fp32 value of k, or the bf16 pair (k even low, k odd
// high) of values_per_step = 2.
struct Gemm {
  int rows;             // most rows of a tile
  int cols;             // of a panel, a multiple of 16
  int values_per_step;  // 1 or 2
  int vectors[13];      // most vectors of a tile, by its rows
  std::int64_t burst;   // steps in a row, between which a tile asks for memory and converts
  // Source element (p, k): src[p * stride + k]. swaps: k goes to step k ^ 1 (values_per_step 1
  // only, steps even). steps: those that k_count needs.
  void (*pack_rows)(const float* src, std::int64_t stride, std::int64_t rows, std::int64_t k_count,
                    std::int64_t steps, int rounding, bool swaps, std::uint32_t* dst);
  // The same of a source whose k lies across its rows: src[p + k * stride].
  void (*pack_transposed_rows)(const float* src, std::int64_t stride, std::int64_t rows,
                               std::int64_t k_count, std::int64_t steps, int rounding, bool swaps,
                               std::uint32_t* dst);
  // Source element (p, k): src[p * stride + k] where from_rows, else src[p + k * stride]. Surplus
  // columns of the last panel are zero.
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
  // 1 <= rows <= Gemm::rows; vectors: 1 or vectors[rows] or, where that is more, cols / 16.
  void (*tile)(int rows, int vectors, const GemmTile& tile);
  void (*tile_transposed)(int rows, int vectors, const GemmTile& tile);  // vectors <= cols / 16
  // Tiles do Conversions.
  bool converts;
  // The arithmetic of a tile out of registers alone: the level's peak, for benchmarks. values: 16
  // floats, in and out.
  void (*spin)(std::int64_t steps, float* values);
};

}  // namespace nb::kernels::inner
