// What one SIMD level offers: plain function pointers, so that no code compiled with a level's
// flags can be merged with code of another (no inline function here, none shared between levels).
// All tables are constants: a program holds every level's, and none of a level's code may run where
// the processor lacks the level, not even to fill its table.
// Every function gives the same bits at every level. One thread; rows are contiguous; n counts
// elements.
#pragma once

#include <cstdint>

#include "model/kernels/inner/attention.hpp"

namespace nb::kernels::inner {

enum Rounding : int {
  kRoundNone,
  kRoundBf16,
  kRoundBf16Floor,  // then magnitudes below 2^-56 become zero of the same sign
  kRoundFp16,
  kRoundFp16Saturating,
  kRoundTf32,
  kRoundHf32,
};

// How a tile meets what stands in C.
enum TileMode : int {
  kTileStart,     // C = chain from +0
  kTileContinue,  // C = chain from C
  kTileAdd,       // C = C + chain from +0
};

// Panels, and what a chain over them gives. (Whole products: Gemm, below.) A panel of width P
// holds, step by step, P words of 4 bytes: one fp32 value of k, or the bf16 pair (k even low, k odd
// high) of `values_per_step` = 2.
struct Product {
  int rows;             // tile rows: width of A's panels
  int cols;             // tile columns: width of B's panels, a multiple of 16
  int values_per_step;  // 1 or 2
  // src element (p, k) = src[p * stride_p + k * stride_k], one of the strides is 1. Fills the
  // panels of `width` that cover p_count, one after the other, each of `steps` steps (>= those that
  // k_count needs; the rest zero); p >= p_count is zero. swaps_pairs: k goes to step k ^ 1
  // (values_per_step 1 only, steps even). dst: panels * steps * width words.
  void (*pack)(const float* src, std::int64_t stride_p, std::int64_t stride_k, std::int64_t p_count,
               int width, std::int64_t k_count, std::int64_t steps, int rounding, bool swaps_pairs,
               std::uint32_t* dst);
  // c (rows_used, 16 * vectors), rows_used <= rows, 16 * vectors <= cols. For self-test and tests.
  void (*tile)(int rows_used, int vectors, std::int64_t steps, const std::uint32_t* a,
               const std::uint32_t* b, float* c, std::int64_t c_stride, int mode);
  // The same arithmetic out of registers alone: the level's peak, for benchmarks. values: 16
  // floats, in and out.
  void (*spin)(std::int64_t steps, float* values);
};

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
inline constexpr std::int64_t kMostFetched = 2048;  // of `step`
inline constexpr int kFetches = 2;                  // at once

// Packing that tiles do on their way, where the level can (Gemm::converts): 32 words with every
// burst, from two places of a source to 32 consecutive words. A run of them lies `next`
// bytes of the source and `to_next` words apart; then those of the run that begins `jump` and
// `to_jump` after its last. 16 words are made of 16 values of each of two rows, `second` bytes
// apart (across), or of 32 values, or halves, of one row (along).
enum class Converts { kNothing, kAcross, kAlong, kHalvesAlong };
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
inline constexpr int kLeastConvertingRows = 7;

// One register tile of a Gemm: `rows` rows, 16 columns a vector.
struct GemmTile {
  std::int64_t steps;
  const std::uint32_t* a;  // row r, step s: a[r * kGemmRowWords + s]; tile_turned: a[s * cols + r]
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
  void (*pack_turned_rows)(const float* src, std::int64_t stride, std::int64_t rows,
                           std::int64_t k_count, std::int64_t steps, int rounding, bool swaps,
                           std::uint32_t* dst);
  // Source element (p, k): src[p * stride + k] where from_rows, else src[p + k * stride]. Surplus
  // columns of the last panel are zero.
  void (*pack_panels)(const float* src, std::int64_t stride, bool from_rows, std::int64_t columns,
                      std::int64_t k_count, std::int64_t steps, int rounding, bool swaps,
                      std::int64_t panel_words, std::uint32_t* dst);
  // The same of halves (bf16 numbers in two bytes), where the format is bf16. Panels: of a source
  // whose k lies across its rows.
  void (*pack_rows_of_halves)(const std::uint16_t* src, std::int64_t stride, std::int64_t rows,
                              std::int64_t k_count, std::int64_t steps, bool swaps,
                              std::uint32_t* dst);
  void (*pack_turned_rows_of_halves)(const std::uint16_t* src, std::int64_t stride,
                                     std::int64_t rows, std::int64_t k_count, std::int64_t steps,
                                     bool swaps, std::uint32_t* dst);
  void (*pack_panels_of_halves)(const std::uint16_t* src, std::int64_t stride, std::int64_t columns,
                                std::int64_t k_count, std::int64_t steps, bool swaps,
                                std::int64_t panel_words, std::uint32_t* dst);
  // 1 <= rows <= Gemm::rows; vectors: 1 or vectors[rows] or, where that is more, cols / 16.
  void (*tile)(int rows, int vectors, const GemmTile& tile);
  void (*tile_turned)(int rows, int vectors, const GemmTile& tile);  // vectors <= cols / 16
  // Tiles do Conversions.
  bool converts;
};

// Rows of fp32 values or of halves, `stride` values apart; the other pointer is null.
struct ConstNumberRows {
  const float* fp32 = nullptr;
  const std::uint16_t* halves = nullptr;
  std::int64_t stride = 0;
};
struct NumberRows {
  float* fp32 = nullptr;
  std::uint16_t* halves = nullptr;
  std::int64_t stride = 0;
};

// Rows of an RMS norm (rms_norm.hpp). Halves only where the rounding is to bf16.
struct NormRows {
  ConstNumberRows x;
  NumberRows out;
  float* rstd;  // one a row, or null
  std::int64_t rows, n;
  float epsilon;
  int rounding;
};
// And of its backward. accumulates: dx = round(dx + round(gradient)).
struct NormBackwardRows {
  ConstNumberRows dy, x;
  const float* rstd;
  NumberRows dx;
  std::int64_t rows, n;
  bool accumulates;
  int rounding;
};

struct AdamWScalars {
  float decay;  // 1: none
  float beta1, one_minus_beta1, beta2, one_minus_beta2, epsilon, step_size;
  float bias2;  // 1 - b2^t, or 0: not divided by it
  int round_state, round_parameter;
  bool eager;  // every step of adamw.hpp is rounded
};

// The soft-cap of a device's policy (cross_entropy.hpp).
struct CapScalars {
  float cap;           // 0: none
  float inverse;       // 1 / cap, rounded
  bool multiplies;     // the inverse may stand for the division of bf16 numbers
  bool eager;          // u, t, z and the gradient's steps are rounded to storage
  bool rounds_capped;  // z is rounded to storage in any case (scoring)
  int storage;         // rounding
};

// A row's largest z, its sum of exponentials, the gradient of its loss.
struct GradientScalars {
  float max, sum, factor;
};
// What is known of a row while its strips are worked off. Start: 16 × -inf, calm as the cap allows.
struct CapRow {
  float best[16];  // largest z of each lane
  bool is_calm;    // no NaN, no denormal t, z within 20 of 0: exponentials need no care
};

struct Table {
  const char* level;
  const Product* fp32;    // any rounding, values_per_step 1
  const Product* bf16;    // kRoundBf16Floor operands: fp32 again, or values_per_step 2 where the
                          // host has VDPBF16PS
  const Gemm* gemm_fp32;  // the same for whole products
  const Gemm* gemm_bf16;

  const AttentionTiles* fp32_attention;  // any rounding but bf16
  const AttentionTiles* bf16_attention;

  // matmul epilogue: c = round(sum + 0), or c += that
  void (*finish)(const float* sum, std::int64_t n, float* c, int rounding, bool accumulate);

  // elementwise
  void (*fill)(float* out, std::int64_t n, float value);
  void (*cast)(const float* in, std::int64_t n, float* out, int rounding);
  void (*scale)(const float* x, std::int64_t n, float factor, float* out, int rounding);
  void (*add)(const float* a, const float* b, std::int64_t n, float* out, int rounding);
  // bf16 storage, of and to halves. out may be a.
  void (*add_to_halves)(const std::uint16_t* a, const float* b, std::int64_t n, std::uint16_t* out);
  void (*relu_squared)(const float* x, std::int64_t n, float* out, int rounding);
  void (*relu_squared_backward)(const float* dy, const float* x, std::int64_t n, float* dx,
                                int rounding);
  // bf16 storage, results as halves. x: bf16 numbers; kept: x as halves, or null.
  void (*relu_squared_to_halves)(const float* x, std::int64_t n, std::uint16_t* kept,
                                 std::uint16_t* out);
  void (*relu_squared_backward_of_halves)(const float* dy, const std::uint16_t* x, std::int64_t n,
                                          std::uint16_t* dx);
  void (*adamw)(float* p, const float* g, float* m, float* v, std::int64_t n,
                const AdamWScalars& s);
  void (*muon_momentum)(const float* g, float* buffer, float* update, std::int64_t n, float mu,
                        float one_minus_mu, bool nesterov, int rounding);
  void (*add_scaled)(const float* x, std::int64_t n, float factor,
                     float* out);  // out = fma(factor, x, out)
  void (*divide)(const float* x, std::int64_t n, float divisor, float* out, int rounding);
  // eager: round(round(factor * x) + y); fused: round(fma(factor, x, y))
  void (*scaled_plus)(const float* x, const float* y, std::int64_t n, float factor, float* out,
                      int rounding, bool eager);
  void (*exp)(const float* x, std::int64_t n, float* out);
  void (*log)(const float* x, std::int64_t n, float* out);
  void (*tanh)(const float* x, std::int64_t n, float* out);
  void (*rsqrt)(const float* x, std::int64_t n, float* out);

  // one row
  float (*sum_of_squares)(const float* x, std::int64_t n);
  float (*dot)(const float* x, const float* y, std::int64_t n);
  void (*from_halves)(const std::uint16_t* x, std::int64_t n, float* out);
  void (*to_halves)(const float* x, std::int64_t n, std::uint16_t* out);  // x: bf16 numbers
  bool (*all_below)(const float* x, std::int64_t n, float limit);         // |x| < limit, NaN is not
  // Index of the first that equals the largest; 0 when there is none (all NaN).
  std::int64_t (*first_largest)(const float* x, std::int64_t n);
  void (*rms_norm)(const float* x, std::int64_t n, float rstd, float* out, int rounding);
  void (*rms_norm_backward)(const float* dy, const float* x, std::int64_t n, float rstd,
                            float coefficient, float* dx, int rounding);
  // the same and the sums before it, of many rows
  void (*rms_norm_rows)(const NormRows& rows);
  void (*rms_norm_backward_rows)(const NormBackwardRows& rows);
  // one head of one row: half = D / 2; sin_sign -1 for backward
  void (*rotary)(const float* x, const float* cos, const float* sin, std::int64_t half,
                 float sin_sign, float* out, int rounding, bool eager);
  // s → exp(s * scale - max) in place
  void (*softmax)(float* s, std::int64_t n, float scale, float* max, float* sum);
  void (*probabilities)(float* s, std::int64_t n, float scale, float max,
                        float sum);  // exp(s*scale-max)/sum
  void (*score_gradient)(const float* p, float* dp, std::int64_t n,
                         float delta);  // dp = p * (dp - delta)
  void (*softcap)(const float* x, std::int64_t n, const CapScalars& s, float* out);  // z of x
  // Soft-cap and cross-entropy in steps: x → t in place (without a cap x stays) and the lanes'
  // maxima of z, strip by strip, n a multiple of 16 but for the last; their maximum; Σ exp(z - max)
  // of a whole row; t → dx in place, dz = exp(z - max) / sum, less 1 at target, times factor.
  void (*cap_logits)(float* x, std::int64_t n, const CapScalars& s, CapRow* row);
  float (*largest_capped)(const CapRow& row);
  float (*capped_sum)(const float* t, std::int64_t n, const CapScalars& s, float max, bool calm);
  float (*capped_value)(float t, const CapScalars& s);  // z of one
  // First index whose z is max; 0 when there is none (all NaN).
  std::int64_t (*first_capped)(const float* t, std::int64_t n, const CapScalars& s, float max);
  // t becomes the gradient. n, target: of a strip of the row, which may lie elsewhere.
  void (*capped_gradient)(float* t, std::int64_t n, std::int64_t target, const GradientScalars& p,
                          const CapScalars& s, bool calm);
};

}  // namespace nb::kernels::inner
