// Log-probabilities of tokens after rows of logits as a model returns them, capped and rounded
// already: natural logarithm, fp32. A token's has the same bits whoever asks, be it for a score or
// for a sample.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/engine/generate_request.hpp"
#include "model/kernels/policy.hpp"
#include "model/tensor/view.hpp"

namespace nb {

// Of targets[r] after row r, and the first most likely token there; argmax may be empty.
void score_rows(ConstMatrix logits, std::span<const int> targets, std::span<float> log_probs,
                std::span<int> argmax, const PointwisePolicy& pointwise);

// Of several tokens after one row.
std::vector<float> log_probs_of(std::span<const float> row, std::span<const int> targets,
                                const PointwisePolicy& pointwise);

// The k most likely of the first `ids` ids after one row, or all of them if they are fewer:
// descending, the lowest id first among equal logits, never NaN. Probabilities are those among all
// ids of the row.
std::vector<TokenLogProb> most_likely(std::span<const float> row, std::int64_t ids, int k,
                                      const PointwisePolicy& pointwise);

}  // namespace nb
