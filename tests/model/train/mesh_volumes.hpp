// What tensor, context and pipeline parallel ranks send, closed form: steps are held against it.
// Per rank and step; bytes of activations are given. Sources: Megatron-LM (arXiv:1909.08053, 3;
// arXiv:2104.04473, 3.2).
#pragma once

#include <cstdint>

#include "model/decoder/config.hpp"
#include "model/train/mesh_step.hpp"

namespace nb {

struct ActivationSize {
  std::int64_t rows = 1, tokens = 1;  // of a micro-batch
  std::int64_t micro_batches = 1;
  std::int64_t element_bytes = 2;
};

// Four all-reduces a block and micro-batch of rows × tokens × width: two in forward, two in
// backward, on t ranks.
double tensor_parallel_bytes(const DecoderConfig& config, const ActivationSize& size,
                             std::int64_t ranks);
// All of a step of BASE on t ranks, by kind of collective: besides, two such all-reduces a
// micro-batch for embedding and head, three fp32 numbers per token for the loss, three per rank for
// the norm, and Muon's matrices, whose updates go to their owners and back in muon_bytes an
// element. sequence_parallel: an all-gather and a reduce-scatter for each of these all-reduces, but
// for what the embedding gives where positions or smear read all rows (an all-reduce and, in
// backward, an all-gather); and once the fp32 gradients of what is read by rows.
SentBytes tensor_parallel_step(const DecoderConfig& config, const ActivationSize& size,
                               std::int64_t ranks, std::int64_t muon_bytes = 2,
                               bool sequence_parallel = false);
// Ulysses on p ranks (arXiv:2309.14509, 3.2): four all-to-alls a block and micro-batch forward and
// four backward, of (p − 1) / p² · rows × tokens × width each; keys and values have their own
// width.
double ulysses_bytes(const DecoderConfig& config, const ActivationSize& size, std::int64_t ranks);
// A ring of p ranks (arXiv:2310.01889): of a block and micro-batch, keys and values of rows ×
// tokens / p go p − 1 times forward and p − 1 times backward, sums of their gradients in fp32 p
// times.
double ring_bytes(const DecoderConfig& config, const ActivationSize& size, std::int64_t ranks);
// rows × tokens × width a micro-batch, to the next stage in forward and to the one before in
// backward: of a stage in the middle; of two stages half of it.
double pipeline_bytes(const DecoderConfig& config, const ActivationSize& size, std::int64_t stages);
}  // namespace nb
