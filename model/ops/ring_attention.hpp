// Causal attention over whole sequences of which each of p ranks has some tokens, with keys and
// values that travel around a ring (arXiv:2310.01889). A sequence is cut into 2p chunks; rank r has
// chunks r and 2p − 1 − r (zigzag), so that all ranks have as many visible pairs in every round.
//
// Forward: p rounds, of which the first has the rank's own keys; before each other one the keys and
// values of the rank before come, p − 1 times two tensors. Results of rounds are merged by their
// log-sum-exp in fp32 (kernels/attention_merge.hpp) in the order in which they come: the rank's own
// first, then those of r − 1, r − 2, …. Backward: keys and values go around once more, and with
// them the fp32 sums of their gradients, which go one rank further, home: (p − 1) · 2 tensors of
// keys and p · 2 of sums.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/device/tensor.hpp"
#include "model/ops/attention.hpp"

namespace nb::ops {

// The tokens of part `part` of a sequence of `time`, ascending. NB_CHECK: 2p chunks.
std::vector<std::int64_t> zigzag_positions(std::int64_t time, int part, int parts);

// q (B·T/p, H·D), k and v (B·T/p, G·D): the tokens of zigzag_positions() of this rank's part →
// (B·T/p, H·D). The rank before this one in the ring has part − 1. whole: sizes of all; no window.
Tensor ring_attention(const Tensor& q, const Tensor& k, const Tensor& v, const HeadShape& whole,
                      int part, std::string_view label, Communicator& ranks);

}  // namespace nb::ops
