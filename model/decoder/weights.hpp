// The parameters of a decoder by what they do. Views into Decoder::parameters(); null: the
// architecture has none.
#pragma once

#include <cstdint>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/decoder/config.hpp"
#include "model/device/tensor.hpp"

namespace nb {

// Zeros in what a product's adapter reads, in training passes alone.
struct LoraDropout {
  double rate = 0;
  std::uint64_t seed = 0;
  std::int64_t step = 0, pass = 0;  // optimizer step; passes of it before this one
  bool is_on = false;
};

// Two small products beside a large one: y += scale · B (A x). Hu et al. 2021, arXiv:2106.09685.
struct LoraAdapter {
  Parameter* a = nullptr;  // (rank, in)
  Parameter* b = nullptr;  // (out, rank)
  double scale = 1;        // alpha / rank
  const LoraDropout* dropout = nullptr;
};

struct LinearWeights {
  Parameter* weight = nullptr;  // (out, in)
  Parameter* bias = nullptr;    // (out)
  LoraAdapter adapter = {};
};
// y (rows, out) = x (rows, in) Wᵀ, with bias and adapter where there are any.
Tensor linear(const Tensor& x, const LinearWeights& w);

struct NormWeights {
  Parameter* gain = nullptr;  // (C)
  Parameter* bias = nullptr;  // (C)
};

struct BlockWeights {
  NormWeights ln_1, ln_2;
  LinearWeights c_q, c_k, c_v, attn_proj, c_gate, c_fc, mlp_proj;
  Parameter* value_embedding = nullptr;  // (V, G·D)
  Parameter* value_gate = nullptr;       // (G, channels)
};

// Hears when a pass is about to read weights and when it has: in between they may lie elsewhere.
// Values of parameters that are read must be there; ops of backward read those of their forward.
class WeightHooks {
 public:
  virtual ~WeightHooks() = default;
  // Of all that belongs to no block. A pass that is differentiated ends with its backward.
  virtual void before_pass() = 0;
  virtual void after_pass() = 0;
  virtual void before_block(std::int64_t layer) = 0;  // in forward, and in backward again
  virtual void after_block(std::int64_t layer) = 0;   // its forward
  // Its backward, where its input has a gradient: nothing more is added to its weights'.
  virtual void after_block_backward(std::int64_t layer) = 0;
};

struct DecoderWeights {
  Parameter* wte = nullptr;  // (V, C)
  Parameter* wpe = nullptr;  // (T, C)
  std::vector<BlockWeights> blocks;
  NormWeights ln_f;
  Parameter* lm_head = nullptr;                               // (V, C); wte where they are one
  Parameter *resid_lambdas = nullptr, *x0_lambdas = nullptr;  // (layers)
  Parameter *smear_gate = nullptr, *smear_lambda = nullptr, *backout_lambda = nullptr;
  WeightHooks* hooks = nullptr;  // null: all lie where they are read
};
DecoderWeights weights_of(const DecoderConfig& config, std::vector<Parameter>& parameters);

}  // namespace nb
