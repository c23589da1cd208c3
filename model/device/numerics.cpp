#include "model/device/numerics.hpp"

#include <algorithm>
#include <array>

#include "harness/base/check.hpp"
#include "model/device/numerics_file.hpp"

namespace nb {
namespace {

// Where an entry of the policy decides bits.
enum Scope : unsigned {
  kTraining = 1,
  kTuning = 2,
  kScores = 4,
  kTexts = 8,
  kGradients = kTraining | kTuning,
  kModel = kGradients | kScores | kTexts,  // every pass through the model
  kSeveralCards = 16
};
struct EntryScope {
  std::string_view name;
  unsigned scope;
};
constexpr EntryScope kScopes[] = {
    {"storage", kModel},
    {"matmul_inputs", kModel},
    {"linear_inputs", kModel},
    {"matmul_output", kModel},
    {"accumulation", kModel},
    {"split_k", kModel},
    {"pointwise", kTraining},
    {"score_pointwise", kScores},
    {"generate_pointwise", kTexts},
    {"tune_pointwise", kTuning},
    {"weight_gradient", kGradients},
    {"embedding_weight", kModel},
    {"adam_moments", kGradients},
    {"muon_momentum", kGradients},
    {"muon_matmul", kGradients},
    {"fp16_overflow", kModel},
    {"loss_scaling", kGradients},
    {"vector_functions", kModel},
    {"collective", kGradients | kSeveralCards},
    {"reduction_order", kGradients | kSeveralCards},
};

unsigned scope_of(std::string_view entry) {
  const auto at = std::ranges::find(kScopes, entry, &EntryScope::name);
  NB_CHECK(at != std::end(kScopes), "[numerics] entry {} has no scope", entry);
  return at->scope;
}

unsigned scope_of(Use use) {
  switch (use) {
    case Use::kTrain:
      return kTraining;
    case Use::kScore:
      return kScores;
    case Use::kTune:
      return kTuning;
    case Use::kGenerate:
      break;
  }
  return kTexts;
}

bool has_fp16(const NumericsPolicy& p) {
  const std::array types = {p.storage, p.matmul_output, p.weight_gradient};
  return std::ranges::find(types, DType::kFp16) != types.end();
}

}  // namespace

std::string_view name(Use use) {
  switch (use) {
    case Use::kTrain:
      return "train";
    case Use::kScore:
      return "score";
    case Use::kTune:
      return "tune";
    case Use::kGenerate:
      break;
  }
  return "generate";
}

NumericsPolicy NumericsPolicy::of(Use use) const {
  NumericsPolicy policy = *this;
  if (use == Use::kScore) policy.pointwise = score_pointwise;
  if (use == Use::kGenerate) policy.pointwise = generate_pointwise;
  if (use == Use::kTune) policy.pointwise = tune_pointwise;
  return policy;
}

MatmulPolicy NumericsPolicy::matmul() const {
  return {matmul_inputs, accumulation, split_k, matmul_output,
          matmul_output == DType::kFp16 && fp16_overflow == Fp16Overflow::kSaturate};
}

MatmulPolicy NumericsPolicy::linear() const {
  MatmulPolicy policy = matmul();
  policy.inputs = linear_inputs.value_or(matmul_inputs);
  return policy;
}

MatmulPolicy NumericsPolicy::weight_gradient_matmul() const {
  MatmulPolicy policy = matmul();
  policy.output = weight_gradient;
  policy.fp16_saturates =
      weight_gradient == DType::kFp16 && fp16_overflow == Fp16Overflow::kSaturate;
  return policy;
}

MatmulPolicy NumericsPolicy::muon() const {
  MatmulPolicy policy = matmul();
  policy.inputs = muon_matmul;
  policy.output = muon_matmul;
  policy.fp16_saturates = false;
  return policy;
}

PointwisePolicy NumericsPolicy::pointwise_policy() const {
  return {storage, pointwise == Pointwise::kEager,
          storage == DType::kFp16 && fp16_overflow == Fp16Overflow::kSaturate, rsqrt()};
}

Rsqrt NumericsPolicy::rsqrt() const {
  return vector_functions == VectorFunctions::kPrecise ? Rsqrt::kPrecise : Rsqrt::kApproximate;
}

std::vector<std::string> differing_entries(const NumericsPolicy& a, const NumericsPolicy& b) {
  // Told of both, so that both cards have the same entries.
  const auto whole = [](NumericsPolicy policy) {
    policy.linear_inputs = policy.linear().inputs;
    return NumericsFile(policy).card();
  };
  const std::vector<PolicyEntry> left = whole(a), right = whole(b);
  const bool linear_follows = !a.linear_inputs && !b.linear_inputs;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < left.size(); ++i) {
    if (left[i].value == right[i].value) continue;
    if (linear_follows && left[i].name == "linear_inputs") continue;
    names.push_back(left[i].name);
  }
  return names;
}

bool needs_several_cards(std::string_view entry) { return (scope_of(entry) & kSeveralCards) != 0; }

std::string idle_reason(std::string_view entry, const NumericsPolicy& policy) {
  if (entry == "split_k" && policy.accumulation != Accumulation::kSplitK)
    return "it counts only where accumulation is split_k";
  if (entry == "fp16_overflow" && !has_fp16(policy))
    return "it counts only where storage, matmul_output or weight_gradient is fp16";
  return "";
}

std::vector<PolicyEntry> entries_in(std::span<const PolicyEntry> card, const NumericsPolicy& policy,
                                    std::span<const Use> uses, int cards) {
  unsigned wanted = 0;
  for (const Use use : uses) wanted |= scope_of(use);
  std::vector<PolicyEntry> entries;
  for (const PolicyEntry& entry : card) {
    const unsigned scope = scope_of(entry.name);
    const bool meets = (scope & kSeveralCards) == 0 || cards > 1;
    if ((scope & wanted) != 0 && meets && idle_reason(entry.name, policy).empty())
      entries.push_back(entry);
  }
  return entries;
}

}  // namespace nb
