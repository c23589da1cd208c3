#include "model/train/mfu.hpp"

#include "harness/base/check.hpp"

namespace nb {

double model_flop_utilization(std::int64_t flops_per_token, double throughput_tok_s,
                              std::int64_t cards, const DeviceProfile& profile) {
  const auto& peak = profile.matrix.peak.of(profile.numerics.matmul_inputs);
  NB_CHECK(peak.has_value(), "[mfu] {} has no peak for {}", profile.name(),
           name(profile.numerics.matmul_inputs));
  const double peak_flop_s = peak->value * 1e12 * static_cast<double>(cards);  // TFLOP/s
  return static_cast<double>(flops_per_token) * throughput_tok_s / peak_flop_s;
}

}  // namespace nb
