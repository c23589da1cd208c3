// What a decoder is made of, as data: which norm, which positions, which MLP, which extras. Sizes
// are in config.hpp, named combinations in presets.hpp. Plain value.
#pragma once

#include <cstdint>
#include <vector>

#include "harness/base/fields.hpp"

namespace nb {

enum class NormKind {
  kRms,      // x / √(mean(x²) + ε)
  kRmsGain,  // the same, times a learned gain
  kLayer,    // (x − mean) / √(variance + ε), times a learned gain, plus a learned bias
};

enum class PositionKind {
  kRotaryReversed,  // halves of a head, by minus the angle (nanochat's gpt.py)
  kRotaryHalves,    // halves of a head, by the angle (Su et al. 2021, arXiv:2104.09864, as in NeoX)
  kRotaryPairs,     // neighbours (2i, 2i+1) of a head, by the angle (the paper; llama2.c)
  kLearned,         // a table of positions that is added to the tokens' (GPT-2)
};

enum class MlpKind {
  kReluSquared,  // W₂ relu(W₁ x)²
  kGelu,         // W₂ gelu(W₁ x), tanh form
  kSwiglu,       // W₂ (silu(W_gate x) ⊙ W₁ x) (Shazeer 2020, arXiv:2002.05202)
};

// The initial values are those of nanochat at 3a5e0bc (2025-10-13), gpt.py.
struct Architecture {
  std::int64_t head_dim = 0;  // 0: width / heads
  std::int64_t hidden = 0;    // width of the MLP; 0: 4 × width
  NormKind norm = NormKind::kRms;
  double norm_epsilon = 0x1p-23;  // fp32's machine epsilon, PyTorch's default
  bool embedding_norm = true;     // a norm directly behind the embedding
  PositionKind positions = PositionKind::kRotaryReversed;
  double rotary_base = 10000;
  // Positions that the rotary tables hold, as a multiple of the training length. Learned ones: 1.
  std::int64_t position_factor = 10;
  bool qk_norm = true;  // RMS norm of each head of q and k, behind the rotary embedding
  double qk_scale = 1;  // then q and k are multiplied by it
  MlpKind mlp = MlpKind::kReluSquared;
  bool biases = false;        // in every linear but the head
  double softcap = 15;        // logits = cap · tanh(logits / cap); 0: none
  bool softcap_fp32 = false;  // logits become fp32 before the cap, not behind it
  bool tied_head = false;     // the head is the embedding table
  // Of each layer, tiled over the layers: a query at position i sees the keys from i − window on;
  // 0: all. The last layer always sees all where there is more than one entry.
  std::vector<std::int64_t> windows = {0};
  // Layers i with i % 2 = (layers − 1) % 2 have a table of values for each token, which is added to
  // v: gate_scale · σ(W x[: gate_channels]) of it, one gate a key-value head.
  bool value_embeddings = false;
  std::int64_t value_gate_channels = 12;
  double value_gate_scale = 3;
  bool residual_lambdas = false;  // x ← a_i x + b_i x₀ before block i; x₀: what block 0 began with
  bool smear = false;  // x_t ← x_t + λ σ(w · x_t[: 24]) x_{t−1} behind the embedding's norm
  bool backout = false;  // before the last norm: x ← x − λ x of behind block ⌊layers / 2⌋
  std::int64_t vocab_multiple = 1;  // rows of the tables are padded to a multiple of it

  FieldList fields();
  bool has_rotary() const { return positions != PositionKind::kLearned; }
  bool operator==(const Architecture&) const = default;
};

inline constexpr std::int64_t kSmearChannels = 24;  // nanochat's gpt.py @ 92d63d4

}  // namespace nb
