// What a request may ask of the sampler beyond temperature and top_k, all of it off by default:
// vLLM V1's rules (sampling_params.py, v1/sample). Plain values and the check of their ranges; the
// arithmetic is in logit_rules.hpp and sampler.hpp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace nb {

// Which of equal logits the top k keep.
enum class TopKTies : std::uint8_t {
  kLowestId,  // k tokens, of equal ones the lowest ids: nanochat
  kAll,       // all that equal the k-th, so more than k may stay: vLLM
};

// Where the probabilities come from that top_p adds up.
enum class SamplerKind : std::uint8_t {
  kVllm,             // from what top_k left; vLLM, and the fused operator of Ascend's A2 and A3
  kFullSoftmaxTopP,  // from all that top_k saw, cut by value, equal ones stay: vllm-ascend's
                     // PyTorch path (310P, A5)
};

struct SamplingOptions {
  double top_p = 1;  // (0, 1]; 1: off. The likeliest tokens whose sum reaches it
  double min_p = 0;  // [0, 1]; 0: off. Tokens of at least this share of the likeliest one's
  double repetition_penalty = 1;          // > 0; divides the logits > 0 of ids in prompt and answer
  double frequency_penalty = 0;           // [-2, 2]; times the count in the answer
  double presence_penalty = 0;            // [-2, 2]; once for an id in the answer
  std::map<int, double> logit_bias = {};  // id → added to its logit; cut to [-100, 100]
  std::vector<int> allowed = {};          // ids; empty: all
  std::int64_t min_tokens = 0;            // of an answer, before which none of ...
  std::vector<int> min_tokens_ids = {};   // ... these comes; empty: the ids that end a sample
  // Sequences of ids that the answer never completes.
  std::vector<std::vector<int>> bad_words = {};
  TopKTies ties = TopKTies::kLowestId;
  SamplerKind sampler = SamplerKind::kVllm;

  bool operator==(const SamplingOptions&) const = default;
  // The rule is nanochat's: temperature and top_k alone.
  bool is_off() const { return *this == SamplingOptions{}; }
};

// What is out of range, in one sentence that begins with the option's name; nothing: all is well.
// Ids must lie below vocab_size.
std::optional<std::string> trouble_with(const SamplingOptions& options, int vocab_size);
// The same of what a client sends, with temperature in [0, 2] and top_k >= 1.
std::optional<std::string> trouble_with(double temperature, std::optional<int> top_k,
                                        const SamplingOptions& options, int vocab_size);

}  // namespace nb
