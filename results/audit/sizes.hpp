// What the shape of a nanochat model says about its parameters, operations and memory. Pure.
#pragma once

#include <cstdint>
#include <vector>

namespace nb {

struct NanochatShape {
  std::int64_t depth = 0;
  std::int64_t width = 0;  // 64 × depth
  std::int64_t vocab = 65536;
  std::int64_t sequence = 2048;
};

// Parameters of the layouts that there were: without value embeddings (until January 2026), and
// with them in every other layer. nanochat gpt.py.
std::vector<double> parameter_counts(const NanochatShape& shape);
// Of the first layout, per token: 6 (parameters - embedding) + 12 · layers · width · sequence.
double flops_per_token(const NanochatShape& shape);

// Bytes on one card of an eager training step of the first layout (PyTorch without compilation, as
// on Ascend): weights, gradients, AdamW and Muon state divided over the cards, and per token
// 50.6 bytes · width · depth of activations and 16 bytes · vocabulary of logits. Fitted to one
// measured run (d20 with value embeddings, 16 cards, 8 sequences of 2,048 tokens: 33,720.95 MiB)
// with 16 bytes a logit (bf16, fp32 before and after the cap, softmax, gradient). A d12 with 2
// sequences of 512 and 265 tokens on 4 cards is then 1.25 GB; measured were 1.54.
double eager_training_bytes(const NanochatShape& shape, double device_batch, double cards);

}  // namespace nb
