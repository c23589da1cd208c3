// Settings of the loss as the levels' functions take them. Internal to model/kernels.
#pragma once

#include <cmath>
#include <limits>

#include "harness/base/check.hpp"
#include "model/kernels/cross_entropy.hpp"
#include "model/kernels/inner/dispatch.hpp"

namespace nb::kernels {

// rounds_capped: z is rounded to storage in both modes, if not in_fp32. has_bf16_logits: they went
// through a rounding to bf16.
inline inner::CapScalars cap_scalars(const CrossEntropySettings& settings, bool rounds_capped,
                                     bool has_bf16_logits) {
  NB_CHECK(settings.softcap >= 0.0f, "[cross_entropy] softcap {} is negative", settings.softcap);
  return {.cap = settings.softcap,
          .inverse = settings.softcap > 0.0f ? 1.0f / settings.softcap : 0.0f,
          .multiplies = has_bf16_logits && settings.softcap == 15.0f,
          .eager = settings.pointwise.eager,
          .rounds_steps = settings.pointwise.eager && !settings.in_fp32,
          .rounds_capped = rounds_capped && !settings.in_fp32,
          .storage = inner::rounding_of(settings.pointwise)};
}

// A row of which nothing is known yet. Up to a cap of 20, quotients of exponentials by their sum
// stay far from underflow.
inline inner::CapRow fresh_row(const inner::CapScalars& cap) {
  inner::CapRow row{};
  for (float& best : row.best) best = -std::numeric_limits<float>::infinity();
  row.is_ordinary = cap.cap >= 1.0f && cap.cap <= 20.0f;
  return row;
}

// Whether gradients of an ordinary row of up to 2^24 logits stay ordinary: every step of them is
// zero or a normal number.
inline bool has_ordinary_gradient(const inner::GradientScalars& p) {
  const float size = std::fabs(p.factor);
  return p.sum >= 1.0f && p.sum <= 0x1p24f &&
         (size == 0.0f || (size >= 0x1p-30f && size <= 0x1p30f));
}

}  // namespace nb::kernels
