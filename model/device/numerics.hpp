// NumericsPolicy: which bits an op produces on a device. Parsed from a profile's "numerics", where
// every entry is {"value": …, "source": …} and a source is a citation or "assumed: why". Two
// profiles with equal policies give equal bits. Plain values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/fields.hpp"
#include "model/kernels/policy.hpp"
#include "model/tensor/dtype.hpp"

namespace nb {

// What the model is run for. The software stack belongs to the use: the reference trains (and takes
// its validation loss) with the compiled model, but scores and generates with the uncompiled one
// (karpathy/nanochat base_train.py; base_eval.py, chat_eval.py, engine.py).
// kTrain: BASE and MID; kTune: SFT and RL.
enum class Use : std::uint8_t { kTrain, kScore, kGenerate, kTune };
inline constexpr Use kUses[] = {Use::kTrain, Use::kScore, Use::kGenerate, Use::kTune};
std::string_view name(Use use);  // "train", "score", "generate", "tune"

enum class Pointwise { kEager, kFused };  // round after every kernel, or once per fused chain
enum class Fp16Overflow { kInfNan, kSaturate };
enum class LossScaling { kNone, kStatic, kDynamic };
// approximate_rsqrt: the reciprocal square root of the norms has 14 significant bits
// (model/kernels/inverse_root.hpp).
enum class VectorFunctions { kPrecise, kApproximateRsqrt };
enum class ReductionOrder { kRing, kMesh, kUnordered };  // unordered: a seeded permutation

struct NumericsPolicy {
  DType storage = DType::kBf16;        // activations and the residual stream
  DType matmul_inputs = DType::kBf16;  // rounding of both operands
  // The same of a Linear's product with its weight, forward and input gradient, where it is
  // another: without autocast an fp32 weight takes the activation with it, while attention and
  // weight gradients multiply activations.
  std::optional<DType> linear_inputs = {};
  DType matmul_output = DType::kBf16;  // rounding of the product
  Accumulation accumulation = Accumulation::kChain;
  int split_k = 1;                          // parts, for accumulation split_k
  Pointwise pointwise = Pointwise::kEager;  // in training
  Pointwise score_pointwise = Pointwise::kEager, generate_pointwise = Pointwise::kEager,
            tune_pointwise = Pointwise::kEager;
  DType weight_gradient = DType::kBf16;   // rounding of dW before it enters the fp32 gradient
  DType embedding_weight = DType::kBf16;  // wte, its gradient and its AdamW moments
  DType adam_moments = DType::kFp32;      // of all other AdamW parameters
  DType muon_momentum = DType::kFp32;
  DType muon_matmul = DType::kBf16;  // Newton–Schulz
  Fp16Overflow fp16_overflow = Fp16Overflow::kInfNan;
  LossScaling loss_scaling = LossScaling::kNone;
  VectorFunctions vector_functions = VectorFunctions::kPrecise;
  DType collective = DType::kFp32;  // what goes over the links for fp32 gradients
  ReductionOrder reduction_order = ReductionOrder::kRing;

  bool operator==(const NumericsPolicy&) const = default;

  NumericsPolicy of(Use use) const;  // with `pointwise` as it is in that use

  MatmulPolicy matmul() const;  // of activations: attention
  MatmulPolicy linear() const;  // a Linear, forward and input gradient
  MatmulPolicy weight_gradient_matmul() const;
  MatmulPolicy muon() const;
  PointwisePolicy pointwise_policy() const;
  Rsqrt rsqrt() const;
};

// One line of the numerics card: what the policy says and on whose word.
struct PolicyEntry {
  std::string name;  // key in the profile
  std::string value;
  std::string source;  // citation or "assumed: why"
};

// The entries of a profile's whole card that decide bits in one of the uses, on so many cards: an
// evaluation has no gradients, nothing is reduced on one card, split_k counts for the accumulation
// of that name alone, fp16_overflow where something is fp16.
std::vector<PolicyEntry> entries_in(std::span<const PolicyEntry> card, const NumericsPolicy& policy,
                                    std::span<const Use> uses, int cards);
// Whether the entry of this name decides bits between cards alone.
bool needs_several_cards(std::string_view entry);
// Why an entry of this name decides nothing under the policy; empty: it decides something.
std::string idle_reason(std::string_view entry, const NumericsPolicy& policy);

// Names of the entries that differ: the reasons that two devices can end with different bits.
std::vector<std::string> differing_entries(const NumericsPolicy& a, const NumericsPolicy& b);

}  // namespace nb
