// Which optimizer trains which parameter at which rate (nanochat's gpt.py), and clipping
// (base_train.py).
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/collectives/communicator.hpp"
#include "model/decoder/decoder.hpp"
#include "model/optim/adamw.hpp"
#include "model/optim/optimizer.hpp"
#include "model/optim/sharded_muon.hpp"
#include "model/tensor/dtype.hpp"

namespace nb {

struct OptimizerRates {
  double embedding_lr = 0.2;
  double unembedding_lr = 0.004;
  double matrix_lr = 0.02;
  double weight_decay = 0;
  std::optional<double> adapter_lr = {};  // whatever the width; none: unembedding_lr by the width
};

// The reference's rules; others are for comparison.
struct OptimizerRules {
  AdamWRules adamw = {};          // but for the weight decay, which is a rate
  bool scales_with_width = true;  // AdamW's rates by (n_embd / 768)^-½
  bool uses_muon = true;          // false: the matrices are AdamW's too, at the rate of lm_head
};

// AdamW over lm_head, wte, value embeddings and vectors (rates × (n_embd / 768)^-½), then Muon over
// the blocks: the order of their steps. Frozen parameters have no optimizer. communicator null: a
// single card.
std::vector<std::unique_ptr<Optimizer>> make_optimizers(Decoder& decoder,
                                                        const OptimizerRates& rates,
                                                        Communicator* communicator = nullptr,
                                                        const OptimizerRules& rules = {});

// The same where this rank has rows of every parameter (FSDP): AdamW of the own rows, Muon over the
// ranks of the communicator.
std::vector<std::unique_ptr<Optimizer>> make_sharded_optimizers(
    std::span<const ParameterRows> trained, const Decoder& decoder, const OptimizerRates& rates,
    Communicator& communicator, const OptimizerRules& rules = {});

// Scales all gradients of trained parameters by min(1, max_norm / (norm + 1e-6)) and returns the
// norm before. max_norm 0: only measures.
double clip_gradients(Decoder& decoder, double max_norm);
// The same norm without any work of the device: for what is told of a step that does not clip.
double gradient_norm(Decoder& decoder);

// Rounds all gradients of trained parameters: what a sum over micro-batches is where it is kept in
// that format.
void round_gradients(Decoder& decoder, DType dtype);

}  // namespace nb
