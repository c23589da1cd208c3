// Model FLOP utilisation: useful arithmetic over the peak of the matrix units. nanochat's gpt.py.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/device/profile.hpp"

namespace nb {

// What flops_per_token() counts, for who compares with other figures. Of a step that trains
// adapters alone lora_flops_per_token() is the count.
inline constexpr std::string_view kFlopConvention =
    "a token: 6 x parameters of products + 12 x layers x query width x keys (the window's, else "
    "the row's, not halved for causality); forward and backward; recomputation not counted";

// The peak of one card that the figure is a share of, and the type it is the peak of.
const Quantity& mfu_peak(const DeviceProfile& profile);
DType mfu_dtype(const DeviceProfile& profile);

// Share of the peak that the profile states for the policy's matmul inputs (not a fixed H100's, as
// nanochat's).
double model_flop_utilization(std::int64_t flops_per_token, double throughput_tok_s,
                              std::int64_t cards, const DeviceProfile& profile);

}  // namespace nb
