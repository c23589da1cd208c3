#include "model/kernels/reference/cross_entropy.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "model/kernels/reference/rows.hpp"
#include "model/kernels/reference/vector_math.hpp"

namespace nb::kernels::reference {
namespace {

struct Capped {
  float z, t;
};
Capped capped(float x, const CrossEntropySettings& s) {
  if (s.softcap == 0.0f) return {x, 0.0f};
  const auto inside = [&](float v) {
    return s.pointwise.eager && !s.in_fp32 ? round_to(s.pointwise, v) : v;
  };
  const float t = inside(reference::tanh(inside(x / s.softcap)));
  return {inside(t * s.softcap), t};
}

std::vector<float> capped_row(const float* x, std::int64_t n, const CrossEntropySettings& s,
                              bool stored) {
  std::vector<float> z(static_cast<std::size_t>(n));
  for (std::size_t j = 0; j < z.size(); ++j) {
    z[j] = capped(x[j], s).z;
    if (stored && !s.in_fp32) z[j] = round_to(s.pointwise, z[j]);
  }
  return z;
}

// The largest by lanes as the kernels do, so that ±0 come out alike; NaN is never greater.
float row_maximum(const std::vector<float>& z) {
  float lanes[16];
  for (float& lane : lanes) lane = -std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < z.size(); ++i) {
    if (lanes[i % 16] < z[i]) lanes[i % 16] = z[i];
  }
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) {
      if (lanes[i] < lanes[i + width]) lanes[i] = lanes[i + width];
    }
  }
  return lanes[0];
}

float row_denominator(const std::vector<float>& z, float max) {
  return lane_sum(static_cast<std::int64_t>(z.size()), [&](float acc, std::int64_t i) {
    return acc + reference::exp(z[static_cast<std::size_t>(i)] - max);
  });
}

}  // namespace

void softcap_cross_entropy(ConstMatrix logits, std::span<const int> targets,
                           std::span<float> losses, const CrossEntropySaved& saved,
                           const CrossEntropySettings& settings) {
  for (std::size_t r = 0; r < losses.size(); ++r) {
    const auto z =
        capped_row(logits.row(static_cast<std::int64_t>(r)), logits.cols, settings, false);
    const float max = row_maximum(z), sum = row_denominator(z, max);
    if (!saved.row_max.empty()) saved.row_max[r] = max;
    if (!saved.row_sum.empty()) saved.row_sum[r] = sum;
    losses[r] = targets[r] == kIgnoreTarget
                    ? 0.0f
                    : reference::log(sum) - (z[static_cast<std::size_t>(targets[r])] - max);
  }
}

void softcap_cross_entropy_backward(ConstMatrix logits, std::span<const int> targets,
                                    std::span<const float> row_max, std::span<const float> row_sum,
                                    const LossGradients& dlosses, Matrix dlogits,
                                    const CrossEntropySettings& settings) {
  const auto store = [&](float v) { return round_to(settings.pointwise, v); };
  const auto inside = [&](float v) { return settings.in_fp32 ? v : store(v); };
  for (std::size_t r = 0; r < targets.size(); ++r) {
    const auto row = static_cast<std::int64_t>(r);
    for (std::int64_t j = 0; j < logits.cols; ++j) {
      const Capped c = capped(logits.row(row)[j], settings);
      float g = reference::exp(c.z - row_max[r]) / row_sum[r];
      if (j == targets[r]) g = g - 1.0f;
      g = g * dlosses.of(r);
      if (targets[r] == kIgnoreTarget) {
        g = 0.0f;
      } else if (settings.softcap == 0.0f) {
        g = store(g);
      } else if (settings.pointwise.eager) {
        g = inside(inside(g) * settings.softcap);
        g = inside(g * std::fma(-c.t, c.t, 1.0f));
        g = store(g / settings.softcap);
      } else {
        g = store(g * std::fma(-c.t, c.t, 1.0f));
      }
      dlogits.row(row)[j] = g;
    }
  }
}

void softcap(ConstMatrix logits, Matrix out, const CrossEntropySettings& settings) {
  for (std::int64_t i = 0; i < logits.rows; ++i) {
    const auto z = capped_row(logits.row(i), logits.cols, settings, true);
    for (std::size_t j = 0; j < z.size(); ++j) out.row(i)[j] = z[j];
  }
}

void score_targets(ConstMatrix logits, std::span<const int> targets, std::span<float> log_probs,
                   std::span<int> argmax, const CrossEntropySettings& settings) {
  for (std::size_t r = 0; r < targets.size(); ++r) {
    const auto z =
        capped_row(logits.row(static_cast<std::int64_t>(r)), logits.cols, settings, true);
    const float max = row_maximum(z);
    if (!log_probs.empty()) {
      log_probs[r] = targets[r] == kIgnoreTarget ? 0.0f
                                                 : (z[static_cast<std::size_t>(targets[r])] - max) -
                                                       reference::log(row_denominator(z, max));
    }
    if (argmax.empty()) continue;
    argmax[r] = 0;
    for (std::size_t j = z.size(); j-- > 0;) {
      if (z[j] == max) argmax[r] = static_cast<int>(j);
    }
  }
}

}  // namespace nb::kernels::reference
