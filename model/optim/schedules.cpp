#include "model/optim/schedules.hpp"

#include <algorithm>
#include <cmath>

#include "harness/base/portable_math.hpp"

namespace nb {

double lr_multiplier(const LrSchedule& schedule, std::int64_t step) {
  const auto n = static_cast<double>(schedule.iterations);
  const double warmup = std::nearbyint(schedule.warmup_ratio * n);
  const double warmdown = std::nearbyint(schedule.warmdown_ratio * n);
  const auto at = static_cast<double>(step);
  if (at < warmup) return (at + 1) / warmup;
  if (at <= n - warmdown) return 1;
  const double left = (n - at) / warmdown;
  return left + (1 - left) * schedule.final_lr_frac;
}

double progress_multiplier(ProgressRule rule, double progress) {
  constexpr double kConstant = 0.8;
  if (rule == ProgressRule::kRising) return progress;
  return progress < kConstant ? 1 : 1 - (progress - kConstant) / (1 - kConstant);
}

double muon_momentum(std::int64_t step) {
  const double fraction = std::min(static_cast<double>(step) / 300.0, 1.0);
  return (1 - fraction) * 0.85 + fraction * 0.95;
}

double width_lr_scale(std::int64_t n_embd) {
  return 1.0 / pm::sqrt(static_cast<double>(n_embd) / 768.0);
}

}  // namespace nb
