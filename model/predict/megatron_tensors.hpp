// The parameter tensors of one card of a Megatron job, in the order in which Megatron Core
// registers them, and how its distributed optimizer cuts them: what memory is counted from. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/predict/megatron_job.hpp"

namespace nb {

// Elements of each tensor of pipeline stage `stage`, by model chunk (vpp of them). A tied head of
// another stage than the table's is a copy of its own. The job has passed check_job.
std::vector<std::vector<std::int64_t>> stage_tensors(const MegatronJob& job, std::int64_t stage);

// Elements of the largest tensor, or piece of one, that a card of the stage updates. With the
// distributed optimizer the tensors of a chunk lie in one buffer, last registered first; overlapped
// with the backward pass, the first chunk of stage 0 is cut into buckets of at least
// max(40,000,000, 1,000,000 × replicas) elements; each bucket is cut evenly over the replicas
// (Megatron-LM core/distributed/param_and_grad_buffer.py and distributed_data_parallel.py at
// core_v0.12.1; padding left out). Of the card whose piece is largest.
std::int64_t largest_updated_piece(const MegatronJob& job, std::int64_t stage);

}  // namespace nb
