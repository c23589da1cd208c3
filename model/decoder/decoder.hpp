// A decoder-only transformer on an emulated device, as its config describes it: forward, loss,
// backward, logits. Everything runs through Device::run, so the same calls give time and memory
// alone on a dry device (values then are zeros). Not here: optimizers, sampling rules, KV cache
// (incremental.hpp), data. One device, one thread; the device outlives it.
//
// Memory policy: gradients accumulate (the first backward after zero_grad assigns); activations
// live from forward to backward of one micro-batch in buffers that the device recycles.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "model/autograd/parameter.hpp"
#include "model/decoder/config.hpp"
#include "model/decoder/incremental_model.hpp"
#include "model/decoder/lora.hpp"
#include "model/decoder/pass.hpp"
#include "model/decoder/weights.hpp"
#include "model/device/device.hpp"
#include "model/ops/head.hpp"
#include "model/ops/rotary.hpp"
#include "model/tensor/view.hpp"

namespace nb {

// What is trained for, formed of the losses of all tokens (B·T; 0 where the target is -1) by one of
// ops/objectives.hpp.
using TokenObjective = std::function<Tensor(const Tensor& token_losses)>;

class Decoder {
 public:
  // Allocates the parameters (contents unspecified until init() or a checkpoint) and the rotary
  // tables. NB_CHECK: check_config holds. Throws OutOfMemory.
  Decoder(const DecoderConfig& config, Device& device);
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  const DecoderConfig& config() const { return config_; }
  Device& device() const { return device_; }
  // Of max_positions(); empty: no rotary.
  const ops::RotaryTables& rotary_tables() const { return tables_; }
  // Its hooks hear of every pass, and outlive the decoder or are taken away.
  DecoderWeights& weights() { return weights_; }
  const DecoderWeights& weights() const { return weights_; }
  // In the order of parameter_specs (nanochat: wte, blocks with c_q c_k c_v c_proj c_fc c_proj,
  // lm_head). Addresses are stable.
  std::vector<Parameter>& parameters() { return parameters_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }
  Adapters& adapters() { return adapters_; }
  const Adapters& adapters() const { return adapters_; }
  std::vector<Parameter*> trained_parameters();  // adapters last
  // Activation checkpointing: backward keeps the input of each block alone and computes the block
  // again. Changes no bit of the gradients. Off at first.
  void set_recompute(bool on) { recomputes_ = on; }
  bool recomputes() const { return recomputes_; }

  // First values by the rule of the code that the architecture follows (parameters.cpp). A function
  // of the seed alone.
  void init(std::uint64_t seed);

  // inputs, targets: (B,T) row-major token ids, T <= config().max_positions(); target -1:
  // ignored. Mean loss over the valid targets of this micro-batch, in nat; adds scale × its
  // gradient to the gradients (scale = 1 / accumulation steps). 0 on a dry device.
  float loss_and_backward(std::span<const int> inputs, std::span<const int> targets,
                          std::int64_t batch, std::int64_t time, double scale);
  // The same for any other objective, which is called once; what it returned. Fine-tuning and
  // reinforcement learning train so.
  float objective_and_backward(std::span<const int> inputs, std::span<const int> targets,
                               std::int64_t batch, std::int64_t time,
                               const TokenObjective& objective);
  // Loss of every token in nat, (B,T), 0 where the target is -1. Empty on a dry device.
  std::vector<float> token_losses(std::span<const int> inputs, std::span<const int> targets,
                                  std::int64_t batch, std::int64_t time);

  // Capped logits as nanochat's uncompiled model returns them, rounded to the storage dtype, handed
  // out in blocks of rows so that no (B,T,V) exists: `logits` row i belongs to position rows[first
  // + i] of the flattened (B,T). The view dies with the call. The device computes all rows, the
  // host the wanted ones: rows ascending; empty: all. No calls on a dry device. The listener hears
  // of the ops on the way.
  void forward_logits(std::span<const int> tokens, std::int64_t batch, std::int64_t time,
                      std::span<const std::int64_t> rows, const LogitSink& sink,
                      const OpListener& listener = {});
  // For evaluators: log-probability of targets[i] at position i of the flattened (B,T), and the
  // first most likely token there. Where targets[i] is -1: log-probability 0, argmax -1. Spans of
  // B·T; argmax may be empty. Left alone on a dry device.
  void score_tokens(std::span<const int> tokens, std::span<const int> targets, std::int64_t batch,
                    std::int64_t time, std::span<float> log_probs, std::span<int> argmax);

  void zero_grad();  // frees the gradients, as set_to_none does

 private:
  Tensor run_trunk(Pass& pass);
  // A pass whose result is made a loss, and back; rotary: tables of its positions.
  template <class LossOf>
  float step(Pass& pass, const ops::RotaryTables& rotary, const LossOf& loss_of);

  DecoderConfig config_;
  Device& device_;
  std::vector<Parameter> parameters_;
  DecoderWeights weights_;
  Adapters adapters_;
  ops::RotaryTables tables_;
  ops::HeadScratch scratch_;
  bool recomputes_ = false;
};

// Of its architecture's logits.
ops::HeadOptions head_options(const DecoderConfig& config);

}  // namespace nb
