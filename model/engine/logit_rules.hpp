// What changes a row of logits before its temperature: which ids may come, bias, penalties. vLLM
// V1's order (v1/sample/sampler.py). Pure functions.
#pragma once

#include <span>

#include "model/engine/sampling_options.hpp"

namespace nb {

// What came before the token: the ids of the prompt, and the new ones of the sample.
struct SampleHistory {
  std::span<const int> prompt = {};
  std::span<const int> tokens = {};
};

// In this order, an id that may not come gets -inf:
//   1. allowed: all others; 2. bad_words: the id that would complete one;
//   3. min_tokens: its ids while there are fewer tokens; logit_bias: added;
//   4. repetition r, ids of prompt and tokens: z / r where z > 0, else z · r; frequency f:
//      z -= f · count in tokens; presence p: z -= p where it is in tokens.
// A rule that would take all that is left leaves the largest of it, the lowest id among equals. No
// finite logit becomes infinite by bias or penalty. min_tokens_ids are taken as they stand: empty
// is none.
void change_logits(std::span<float> logits, const SamplingOptions& options,
                   const SampleHistory& history);

}  // namespace nb
