// Learning-rate multiplier and Muon momentum as functions of the step. nanochat's base_train.py.
// Pure.
#pragma once

#include <cstdint>

namespace nb {

struct LrSchedule {
  std::int64_t iterations = 1;
  double warmup_ratio = 0;
  double warmdown_ratio = 0.2;
  double final_lr_frac = 0;
};

// (step + 1) / warmup while step < warmup = round(warmup_ratio × n); 1 while step <= n − warmdown;
// then linear to final_lr_frac at n. Rounds half to even, as Python does.
double lr_multiplier(const LrSchedule& schedule, std::int64_t step);

// How MID's rate follows from the share of the conversations that was taken up. nanochat rose
// where it meant to fall until b8076dd (2025-10-15); the published scores are of then.
enum class ProgressRule {
  kConstantThenLinear,  // 1 up to a share of 0.8, then linear to 0
  kRising,              // the share itself
};
double progress_multiplier(ProgressRule rule, double progress);

// 0.85 → 0.95 over the first 300 steps, then constant.
double muon_momentum(std::int64_t step);

// (n_embd / 768)^-½: AdamW learning rates were tuned at width 768. nanochat's gpt.py.
double width_lr_scale(std::int64_t n_embd);

}  // namespace nb
