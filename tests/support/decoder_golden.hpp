// The weights and tokens that tests/golden/nanochat_parity.py works with, and a device that
// computes in plain fp32.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/decoder/decoder.hpp"
#include "model/device/profile.hpp"

namespace nb::test {

// The profile `name` with every number format fp32 and canonical kernels.
DeviceProfile fp32_profile(const std::string& name = "tiny");

// 24-bit uniform in [-scale, scale): element i of the stream, as uniform() there.
float golden_uniform(std::uint64_t stream, std::uint64_t i, float scale);
// Non-zero weights in every matrix, as parameters_of() there.
void set_golden_weights(Decoder& decoder);

struct GoldenTokens {
  std::vector<int> inputs, targets;
};
// tokens_of() there; ignore_every 0: no target is ignored.
GoldenTokens golden_tokens(std::int64_t step, std::int64_t batch, std::int64_t time,
                           std::int64_t vocab, std::int64_t ignore_every);

}  // namespace nb::test
