// What one SIMD level offers: plain function pointers, so that no code compiled with a level's
// flags can be merged with code of another (no inline function here, none shared between levels).
// All tables are constants: a program holds every level's, and none of a level's code may run where
// the processor lacks the level, not even to fill its table.
// Every function gives the same bits at every level. One thread; rows are contiguous; n counts
// elements.
#pragma once

#include <cstdint>

#include "model/kernels/inner/attention.hpp"
#include "model/kernels/inner/gemm.hpp"
#include "model/kernels/policy.hpp"

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

// Rows of fp32 values or of bf16, `stride` values apart; the other pointer is null.
struct ConstAnyRows {
  const float* fp32 = nullptr;
  const std::uint16_t* bf16 = nullptr;
  std::int64_t stride = 0;
};
struct AnyRows {
  float* fp32 = nullptr;
  std::uint16_t* bf16 = nullptr;
  std::int64_t stride = 0;
};

// Rows of an RMS norm (rms_norm.hpp). bf16 only where the rounding is to bf16.
struct NormRows {
  ConstAnyRows x;
  AnyRows out;
  float* rstd;  // one per row, or null
  std::int64_t rows, n;
  float epsilon;
  Rsqrt rsqrt;
  int rounding;
};
// And of its backward. accumulates: dx = round(dx + round(gradient)).
struct NormBackwardRows {
  ConstAnyRows dy, x;
  const float* rstd;
  AnyRows dx;
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
  bool eager;          // the gradient takes the steps of the eager stack
  bool rounds_steps;   // u, t, z and the gradient's steps are rounded to storage
  bool rounds_capped;  // z is rounded to storage in any case (scoring)
  int storage;         // rounding
};

// A row's largest z, its sum of exponentials, the gradient of its loss.
struct GradientScalars {
  float max, sum, factor;
};
// What is known of a row while its strips are worked off. Start: 16 × -inf, ordinary as the cap
// allows.
struct CapRow {
  float best[16];    // largest z of each lane
  bool is_ordinary;  // no NaN, no denormal t, z within 20 of 0: exponentials need no care
};

struct Table {
  const char* level;
  const Gemm* gemm_fp32;  // any rounding, values_per_step 1
  const Gemm* gemm_bf16;  // kRoundBf16Floor operands: fp32 again, or values_per_step 2 where the
                          // host has VDPBF16PS

  const AttentionTiles* fp32_attention;  // any rounding but bf16
  const AttentionTiles* bf16_attention;

  // matmul epilogue: c = round(sum + 0), or c += that
  void (*finish)(const float* sum, std::int64_t n, float* c, int rounding, bool accumulate);

  // elementwise
  void (*fill)(float* out, std::int64_t n, float value);
  void (*cast)(const float* in, std::int64_t n, float* out, int rounding);
  void (*scale)(const float* x, std::int64_t n, float factor, float* out, int rounding);
  void (*add)(const float* a, const float* b, std::int64_t n, float* out, int rounding);
  // bf16 storage, of and to bf16. out may be a.
  void (*add_to_bf16)(const std::uint16_t* a, const float* b, std::int64_t n, std::uint16_t* out);
  void (*relu_squared)(const float* x, std::int64_t n, float* out, int rounding);
  void (*relu_squared_backward)(const float* dy, const float* x, std::int64_t n, float* dx,
                                int rounding);
  // bf16 storage, results as bf16. x: bf16 numbers; kept: x as bf16, or null.
  void (*relu_squared_to_bf16)(const float* x, std::int64_t n, std::uint16_t* kept,
                               std::uint16_t* out);
  void (*relu_squared_backward_of_bf16)(const float* dy, const std::uint16_t* x, std::int64_t n,
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

  // one row
  float (*sum_of_squares)(const float* x, std::int64_t n);
  float (*dot)(const float* x, const float* y, std::int64_t n);
  void (*from_bf16)(const std::uint16_t* x, std::int64_t n, float* out);
  void (*to_bf16)(const float* x, std::int64_t n, std::uint16_t* out);  // x: bf16 numbers
  bool (*all_below)(const float* x, std::int64_t n, float limit);       // |x| < limit, NaN is not
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
  void (*softcap)(const float* x, std::int64_t n, const CapScalars& s, float* out);  // z of x
  // Soft-cap and cross-entropy in steps: x → t in place (without a cap x stays) and the lanes'
  // maxima of z, strip by strip, n a multiple of 16 but for the last; their maximum; Σ exp(z - max)
  // of a whole row; t → dx in place, dz = exp(z - max) / sum, less 1 at target, times factor.
  void (*cap_logits)(float* x, std::int64_t n, const CapScalars& s, CapRow* row);
  float (*largest_capped)(const CapRow& row);
  float (*capped_sum)(const float* t, std::int64_t n, const CapScalars& s, float max,
                      bool ordinary);
  float (*capped_value)(float t, const CapScalars& s);  // z of one
  // First index whose z is max; 0 when there is none (all NaN).
  std::int64_t (*first_capped)(const float* t, std::int64_t n, const CapScalars& s, float max);
  // t becomes the gradient. n, target: of a strip of the row, which may lie elsewhere.
  void (*capped_gradient)(float* t, std::int64_t n, std::int64_t target, const GradientScalars& p,
                          const CapScalars& s, bool ordinary);
};

}  // namespace nb::kernels::inner
