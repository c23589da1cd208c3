// Low-rank adapters (Hu et al. 2021, arXiv:2106.09685) of a decoder's products: y = W x +
// alpha / rank · B (A x). W stays as it is; A and B are trained.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/parameters.hpp"
#include "model/decoder/weights.hpp"
#include "model/device/device.hpp"

namespace nb {

struct LoraSettings {
  std::int64_t rank = 8;
  double alpha = 16;
  // Products in every block, by the end of their names: "attn.c_q", "mlp.c_fc"; or "all". PEFT's
  // names of a Llama mean the same: "q_proj", "up_proj", "all-linear".
  std::vector<std::string> targets = {"attn.c_q", "attn.c_v"};

  FieldList fields();
  bool operator==(const LoraSettings&) const = default;
};

// The names that targets can have in such a decoder, in their order in a block.
std::vector<std::string> lora_targets(const DecoderConfig& config);
// bad_input: a target that no product has (with the nearest that there is), none at all, one
// named twice.
Result<void> check_lora(const LoraSettings& settings, const DecoderConfig& config,
                        const std::string& where);

// Forward and backward of one token in a step that trains adapters alone, as flops_per_token()
// counts: 4 × (weights of the products: a frozen one has no gradient) + 6 × (weights of the
// adapters) + the same for attention. NB_CHECK: check_lora holds.
std::int64_t lora_flops_per_token(const DecoderConfig& config, const LoraSettings& settings);

// Names and shapes of the adapters, block by block, A before B. NB_CHECK: check_lora holds.
std::vector<ParameterSpec> lora_specs(const LoraSettings& settings, const DecoderConfig& config);
// Adapters of every target, block by block, A before B: "transformer.h.0.attn.c_q.lora_a" (rank,
// in), ".lora_b" (out, rank). A is drawn uniformly from ±1/√in (PyTorch's Kaiming rule for a
// linear), B is 0: the decoder computes what it did. NB_CHECK: check_lora holds.
std::vector<Parameter> make_lora(const LoraSettings& settings, const DecoderConfig& config,
                                 Device& device, std::uint64_t seed);
// Points the products at their adapters, or at none.
void set_adapters(DecoderWeights& weights, const LoraSettings& settings,
                  std::vector<Parameter>& adapters, const LoraDropout* dropout = nullptr);
void remove_adapters(DecoderWeights& weights);
// W += alpha / rank · B A in fp32, in ascending order of the rank: the decoder without adapters
// then computes the same within rounding.
void merge_adapters(DecoderWeights& weights);
// The same of one product: a (rank, in), b (out, rank).
void merge_adapter(Parameter& w, ConstMatrix a, ConstMatrix b, double scale);

// The adapters of one decoder, none at first.
class Adapters {
 public:
  // Of whose products; all outlive it. `whole`: what adapters freeze.
  Adapters(const DecoderConfig& config, Device& device, std::vector<Parameter>& whole,
           DecoderWeights& weights)
      : config_(config), device_(device), whole_(whole), weights_(weights) {}
  Adapters(const Adapters&) = delete;
  Adapters& operator=(const Adapters&) = delete;

  // Of the targets; everything else is frozen. Once.
  void add(const LoraSettings& settings, std::uint64_t seed);
  // Adds them to the weights and drops them; all weights are trained again.
  void merge();

  const std::optional<LoraSettings>& settings() const { return settings_; }  // none: no adapters
  std::vector<Parameter>& parameters() { return parameters_; }
  const std::vector<Parameter>& parameters() const { return parameters_; }

  // What they read loses elements in training passes (ops/elementwise.hpp), by the seed, the step,
  // the passes since begin_step() and the element. Off at first.
  void set_dropout(double rate, std::uint64_t seed) { dropout_ = {.rate = rate, .seed = seed}; }
  void begin_step(std::int64_t step) { dropout_.step = step, dropout_.pass = 0; }
  void begin_pass(std::int64_t pass) { dropout_.pass = pass; }  // as if so many had been before
  // Around a training pass and its backward.
  void begin_training() { dropout_.is_on = dropout_.rate > 0; }
  void end_training() { dropout_.is_on = false, ++dropout_.pass; }

 private:
  const DecoderConfig& config_;
  Device& device_;
  std::vector<Parameter>& whole_;
  DecoderWeights& weights_;
  std::vector<Parameter> parameters_;
  std::optional<LoraSettings> settings_;
  LoraDropout dropout_;
};

}  // namespace nb
