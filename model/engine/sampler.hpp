// One token out of a row of logits. Pure functions, the same bits on every host. With the options
// off nanochat's engine.py, else vLLM V1's sampler, in its order:
//   1. logits in fp32, changed by logit_rules.hpp
//   2. temperature < 1e-5: the largest, whatever else is set; 0 < T < .01 is raised to .01
//   3. weights exp((z - max z) / T)
//   4. min_p: those below min_p × the largest weight go
//   5. top_k: those below the k-th largest logit go
//   6. top_p: the lightest go while their sum is at most (1 - top_p) × the sum (in double, of equal
//      ones the highest ids first); the largest stays
//   7. the draw
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "harness/base/rng.hpp"
#include "model/engine/logit_rules.hpp"
#include "model/engine/sampling_options.hpp"

namespace nb {

// Lowest id among the largest; NaN never greater (all NaN: 0).
int first_largest(std::span<const float> logits);

struct SamplingRule {
  double temperature = 1.0;       // 0: first_largest, whatever else is set
  std::optional<int> top_k = {};  // the k largest only, of equal ones the lowest ids; >= 1
  SamplingOptions options = {};
};

// u in [0, 1). Weights exp((z - max z) / temperature) in fp32 over the candidates, ids ascending,
// summed in double; the first id whose running sum exceeds u × the sum. NaN weighs nothing.
int sample_token(std::span<const float> logits, const SamplingRule& rule, double u,
                 const SampleHistory& history = {});
// The weight of every id in that draw, fp32, the largest 1; 0: it cannot be drawn.
std::vector<float> sampling_weights(std::span<const float> logits, const SamplingRule& rule,
                                    const SampleHistory& history = {});

// Where samples get their numbers: token t of sample s of a request draws u from Philox keyed by
// (seed, "generate", step s), counter t. So a sample depends on its request and number alone.
class SampleRandom {
 public:
  SampleRandom(std::uint64_t seed, int sample);
  double uniform(std::int64_t token) const;

 private:
  Rng rng_;
};

}  // namespace nb
