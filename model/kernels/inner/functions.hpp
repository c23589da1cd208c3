// The functions of one level, gathered by table.cpp. Meanings: table.hpp.
#pragma once

#include "model/kernels/inner/attention.hpp"
#include "model/kernels/inner/level.hpp"
#include "model/kernels/inner/table.hpp"

namespace nb::kernels::inner::NB_LEVEL {

extern const Table kTable;
extern const Gemm kFp32Gemm, kBf16Gemm;
extern const AttentionTiles kFp32Attention, kBf16Attention;

void finish(const float* sum, std::int64_t n, float* c, int rounding, bool accumulate);
void fill(float* out, std::int64_t n, float value);
void cast(const float* in, std::int64_t n, float* out, int rounding);
void scale(const float* x, std::int64_t n, float factor, float* out, int rounding);
void add(const float* a, const float* b, std::int64_t n, float* out, int rounding);
void add_to_bf16(const std::uint16_t* a, const float* b, std::int64_t n, std::uint16_t* out);
void relu_squared(const float* x, std::int64_t n, float* out, int rounding);
void relu_squared_backward(const float* dy, const float* x, std::int64_t n, float* dx,
                           int rounding);
void relu_squared_to_bf16(const float* x, std::int64_t n, std::uint16_t* kept, std::uint16_t* out);
void relu_squared_backward_of_bf16(const float* dy, const std::uint16_t* x, std::int64_t n,
                                   std::uint16_t* dx);
void adamw(float* p, const float* g, float* m, float* v, std::int64_t n, const AdamWScalars& s);
void muon_momentum(const float* g, float* buffer, float* update, std::int64_t n, float mu,
                   float one_minus_mu, bool nesterov, int rounding);
void add_scaled(const float* x, std::int64_t n, float factor, float* out);
void divide(const float* x, std::int64_t n, float divisor, float* out, int rounding);
void scaled_plus(const float* x, const float* y, std::int64_t n, float factor, float* out,
                 int rounding, bool eager);
void exp_all(const float* x, std::int64_t n, float* out);
void log_all(const float* x, std::int64_t n, float* out);
float sum_of_squares(const float* x, std::int64_t n);
float dot(const float* x, const float* y, std::int64_t n);
void from_bf16(const std::uint16_t* x, std::int64_t n, float* out);
void to_bf16(const float* x, std::int64_t n, std::uint16_t* out);
bool all_below(const float* x, std::int64_t n, float limit);
std::int64_t first_largest(const float* x, std::int64_t n);
void rms_norm(const float* x, std::int64_t n, float rstd, float* out, int rounding);
void rms_norm_backward(const float* dy, const float* x, std::int64_t n, float rstd,
                       float coefficient, float* dx, int rounding);
void rms_norm_rows(const NormRows& rows);
void rms_norm_backward_rows(const NormBackwardRows& rows);
void rotary(const float* x, const float* cos, const float* sin, std::int64_t half, float sin_sign,
            float* out, int rounding, bool eager);
// Of the level alone, for attention: s → exp(s * factor - max) in place.
void softmax(float* s, std::int64_t n, float factor, float* max, float* sum);
void softcap(const float* x, std::int64_t n, const CapScalars& s, float* out);
void cap_logits(float* x, std::int64_t n, const CapScalars& s, CapRow* row);
float largest_capped(const CapRow& row);
float capped_sum(const float* t, std::int64_t n, const CapScalars& s, float max, bool ordinary);
float capped_value(float t, const CapScalars& s);
std::int64_t first_capped(const float* t, std::int64_t n, const CapScalars& s, float max);
void capped_gradient(float* t, std::int64_t n, std::int64_t target, const GradientScalars& p,
                     const CapScalars& s, bool ordinary);

}  // namespace nb::kernels::inner::NB_LEVEL
