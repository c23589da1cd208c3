// One token out of a row of logits. Pure functions, the same bits on every host. nanochat's
// engine.py.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "harness/base/rng.hpp"

namespace nb {

// Lowest id among the largest; NaN never greater (all NaN: 0).
int first_largest(std::span<const float> logits);

struct SamplingRule {
  double temperature = 1.0;       // 0: first_largest, whatever else is set
  std::optional<int> top_k = {};  // the k largest only, of equal ones the lowest ids; >= 1
};

// u in [0, 1). Weights exp((z - max z) / temperature) in fp32 over the candidates, ids ascending,
// summed in double; the first id whose running sum exceeds u × the sum. NaN weighs nothing.
int sample_token(std::span<const float> logits, const SamplingRule& rule, double u);

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
