// Generates many samples at once with a IncrementalModel: every forward pass holds the next tokens
// of all running samples and, as places become free, the prompts of waiting requests. A prompt is
// computed once for all its samples. Which samples run together changes no token.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/decoder/incremental_model.hpp"
#include "model/engine/generate_request.hpp"

namespace nb {

class Tokenizer;

struct GenerateBatching {
  std::int64_t max_samples = 64;   // running at a time, waiting prompts included
  std::int64_t max_tokens = 2048;  // rows of a forward pass; a longer prompt is cut to pieces
};

struct GenerateStats {
  std::int64_t passes = 0;
  std::int64_t tokens = 0;        // rows computed, prompts included
  std::int64_t logit_rows = 0;    // rows that reached the output layer
  std::int64_t most_running = 0;  // samples in a pass
};

// check_request holds for all. The tokenizer's ids alone are sampled, the model's vocabulary may be
// larger. On a dry device every chosen token is 0. Throws OutOfMemory.
std::vector<GenerateResult> generate(IncrementalModel& decoder, const Tokenizer& tokenizer,
                                     std::span<const GenerateRequest> requests,
                                     const GenerateBatching& batching = {},
                                     GenerateStats* stats = nullptr);

}  // namespace nb
