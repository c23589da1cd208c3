#include "model/kernels/inner/table.hpp"

#include "model/kernels/inner/functions.hpp"

namespace nb::kernels::inner::NB_LEVEL {

#define NB_TEXT_INNER(x) #x
#define NB_TEXT(x) NB_TEXT_INNER(x)

constexpr Table kTable = {
    .level = NB_TEXT(NB_LEVEL),
    .gemm_fp32 = &kFp32Gemm,
    .gemm_bf16 = &kBf16Gemm,
    .fp32_attention = &kFp32Attention,
    .bf16_attention = &kBf16Attention,
    .finish = finish,
    .fill = fill,
    .cast = cast,
    .scale = scale,
    .add = add,
    .add_to_bf16 = add_to_bf16,
    .relu_squared = relu_squared,
    .relu_squared_backward = relu_squared_backward,
    .relu_squared_to_bf16 = relu_squared_to_bf16,
    .relu_squared_backward_of_bf16 = relu_squared_backward_of_bf16,
    .adamw = adamw,
    .muon_momentum = muon_momentum,
    .add_scaled = add_scaled,
    .divide = divide,
    .scaled_plus = scaled_plus,
    .exp = exp_all,
    .log = log_all,
    .sum_of_squares = sum_of_squares,
    .dot = dot,
    .from_bf16 = from_bf16,
    .to_bf16 = to_bf16,
    .all_below = all_below,
    .first_largest = first_largest,
    .rms_norm = rms_norm,
    .rms_norm_backward = rms_norm_backward,
    .rms_norm_rows = rms_norm_rows,
    .rms_norm_backward_rows = rms_norm_backward_rows,
    .rotary = rotary,
    .softcap = softcap,
    .cap_logits = cap_logits,
    .largest_capped = largest_capped,
    .capped_sum = capped_sum,
    .capped_value = capped_value,
    .first_capped = first_capped,
    .capped_gradient = capped_gradient,
};

}  // namespace nb::kernels::inner::NB_LEVEL
