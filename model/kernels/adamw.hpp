// AdamW on one tensor, element by element in fp32; both denominators of nanochat's history.
//   p = p * fp32(1 - lr*wd)                       (only when weight_decay != 0)
//   m = round_state(fma(fp32(1-b1), g, fp32(b1) * m))
//   v = round_state(fma(fp32(1-b2) * g, g, fp32(b2) * v))
//   kScaledStep:     p = round_param(p - fp32(lr * sqrt(1-b2^t) / (1-b1^t)) * (m / (sqrt(v) +
//   eps))) kBiasCorrected:  p = round_param(p - fp32(lr / (1-b1^t)) * (m / (sqrt(v / fp32(1-b2^t))
//   + eps)))
// That is one kernel (fused). Eager, each of nanochat's pointwise kernels stores its result, those
// on the moments in their type (adamw.py, original release, without torch.compile):
//   p.mul_(1 - lr*wd)           p = round_param(p * fp32(1 - lr*wd))
//   m.mul_(b1)                  m = round_state(fp32(b1) * m)
//   m.add_(g, alpha=1-b1)       m = round_state(fma(fp32(1-b1), g, m))
//   v.mul_(b2)                  v = round_state(fp32(b2) * v)
//   v.addcmul_(g, g, 1-b2)      v = round_state(fma(fp32(1-b2) * g, g, v))
//   d = v.sqrt()                d = round_state(sqrt(v))     (kBiasCorrected: of round_state(v /
//   …)) d.add_(eps)                 d = round_state(d + fp32(eps)) u = m.div(d)                u =
//   round_state(m / d) u.mul_(step_size)           u = round_state(fp32(step_size) * u) p.add_(u,
//   alpha=-1)         p = round_param(p - u)
// For fp32 state and parameter both are the same bits. Scalars are made in double with
// portable_math, then rounded to fp32.
#pragma once

#include <cstdint>
#include <span>

#include "model/tensor/dtype.hpp"

namespace nb::kernels {

enum class AdamWDenominator {
  kScaledStep,     // sqrt(v) + eps, nanochat's adamw.py until 2026-01
  kBiasCorrected,  // sqrt(v / (1 - b2^t)) + eps, torch.optim.AdamW and nanochat since 4ddc803
};

struct AdamWSettings {
  double learning_rate = 0.0;
  double beta1 = 0.8;
  double beta2 = 0.95;
  double epsilon = 1e-10;
  double weight_decay = 0.0;
  std::int64_t step = 1;  // t, from 1
  AdamWDenominator denominator = AdamWDenominator::kScaledStep;
  DType parameter = DType::kFp32;  // bf16 for nanochat's wte
  DType state = DType::kFp32;
  bool eager = false;  // every pointwise kernel rounds
};

// All spans have the parameter's size.
void adamw(std::span<float> parameter, std::span<const float> gradient, std::span<float> m,
           std::span<float> v, const AdamWSettings& settings);

}  // namespace nb::kernels
