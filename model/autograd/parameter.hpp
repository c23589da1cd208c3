// One weight of a model with its gradient. Owned by the model; optimizers and checkpoints refer to
// it.
#pragma once

#include <string>

#include "model/device/tensor.hpp"

namespace nb {

enum class ParameterRole {
  kEmbedding,       // wte: AdamW, dtype of the policy's embedding_weight
  kUnembedding,     // lm_head: AdamW, fp32
  kMatrix,          // 2-D weights of the blocks: Muon, fp32
  kVector,          // gains, biases, scalars: AdamW, fp32
  kValueEmbedding,  // tables whose rows are added to the values of attention: AdamW
  kAdapter,         // low-rank adapters beside frozen matrices: AdamW, fp32
};

struct Parameter {
  std::string name;  // nanochat's tensor name (gpt.py), "transformer.h.0.attn.c_q.weight"
  ParameterRole role = ParameterRole::kMatrix;
  Tensor value;  // (out, in); wte and lm_head (V, C); vectors (C)
  // Same shape and dtype; empty until the first backward of a step and after zero_grad.
  Tensor grad = {};
  // False: a frozen weight. Ops compute no gradient of it, and no optimizer has it.
  bool is_trained = true;
};

}  // namespace nb
