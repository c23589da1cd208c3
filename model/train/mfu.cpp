#include "model/train/mfu.hpp"

#include "harness/base/check.hpp"

namespace nb {

DType mfu_dtype(const DeviceProfile& profile) { return profile.numerics.matmul_inputs; }

const Quantity& mfu_peak(const DeviceProfile& profile) {
  const auto& peak = profile.matrix.peak.of(mfu_dtype(profile));
  NB_CHECK(peak.has_value(), "[mfu] {} has no peak for {}", profile.name(),
           name(mfu_dtype(profile)));
  return *peak;
}

double model_flop_utilization(std::int64_t flops_per_token, double throughput_tok_s,
                              std::int64_t cards, const DeviceProfile& profile) {
  const double peak_flop_s = mfu_peak(profile).value * 1e12 * static_cast<double>(cards);
  return static_cast<double>(flops_per_token) * throughput_tok_s / peak_flop_s;
}

}  // namespace nb
