// Model FLOP utilisation: useful arithmetic over the peak of the matrix units. nanochat's gpt.py.
#pragma once

#include <cstdint>

#include "model/device/profile.hpp"

namespace nb {

// Share of the peak that the profile states for the policy's matmul inputs (not a fixed H100's, as
// nanochat's).
double model_flop_utilization(std::int64_t flops_per_token, double throughput_tok_s,
                              std::int64_t cards, const DeviceProfile& profile);

}  // namespace nb
