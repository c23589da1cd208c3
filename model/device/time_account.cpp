#include "model/device/time_account.hpp"

#include <numeric>

#include "harness/base/check.hpp"

namespace nb {
namespace {

template <class T, std::size_t n>
std::array<T, n> combined(const std::array<T, n>& a, const std::array<T, n>& b, T factor_of_a,
                          T factor_of_b) {
  std::array<T, n> sum{};
  for (std::size_t i = 0; i < n; ++i) sum[i] = factor_of_a * a[i] + factor_of_b * b[i];
  return sum;
}

// Unsigned factors wrap around, and back in the sum.
TimeAccount combined(const TimeAccount& a, const TimeAccount& b, std::int64_t of_a,
                     std::int64_t of_b) {
  const auto count_a = static_cast<std::uint64_t>(of_a), count_b = static_cast<std::uint64_t>(of_b);
  return {combined(a.class_ns, b.class_ns, of_a, of_b),
          combined(a.limit_ns, b.limit_ns, of_a, of_b),
          combined(a.launches, b.launches, count_a, count_b),
          combined(a.bytes, b.bytes, count_a, count_b)};
}

}  // namespace

std::string_view name(OpClass op_class) {
  constexpr std::array<std::string_view, kOpClasses> kNames{
      "product",   "attention", "pointwise",     "loss",
      "optimizer", "transfer",  "communication", "host"};
  return kNames[static_cast<std::size_t>(op_class)];
}

std::string_view name(TimeLimit limit) {
  constexpr std::array<std::string_view, kTimeLimits> kNames{
      "cube", "load", "vector", "memory", "launch", "host_link", "communication", "host"};
  return kNames[static_cast<std::size_t>(limit)];
}

TimeLimit limit_of(KernelUnit unit, Limiter limiter) {
  const bool is_matrix = unit == KernelUnit::kMatrix || unit == KernelUnit::kAttention;
  switch (limiter) {
    case Limiter::kCompute:
      return is_matrix ? TimeLimit::kCube : TimeLimit::kVector;
    case Limiter::kMemory:
      return is_matrix ? TimeLimit::kLoad : TimeLimit::kMemory;
    case Limiter::kLaunch:
      return TimeLimit::kLaunch;
    case Limiter::kLink:
      return unit == KernelUnit::kHostLink ? TimeLimit::kHostLink : TimeLimit::kCommunication;
  }
  NB_CHECK(false, "[time] limiter {}", static_cast<int>(limiter));
}

OpClass class_of(OpKind kind) {
  switch (kind) {
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight:
      return OpClass::kProduct;
    case OpKind::kAttention:
    case OpKind::kAttentionBackward:
      return OpClass::kAttention;
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingBackward:
    case OpKind::kRmsNorm:
    case OpKind::kRmsNormBackward:
    case OpKind::kRotary:
    case OpKind::kRotaryBackward:
    case OpKind::kReluSquared:
    case OpKind::kReluSquaredBackward:
    case OpKind::kSilu:
    case OpKind::kSiluBackward:
    case OpKind::kGelu:
    case OpKind::kGeluBackward:
    case OpKind::kSigmoid:
    case OpKind::kSigmoidBackward:
    case OpKind::kMultiply:
    case OpKind::kMultiplyBackward:
    case OpKind::kScale:
    case OpKind::kScaleBackwardInput:
    case OpKind::kScaleBackwardFactor:
    case OpKind::kApplyGain:
    case OpKind::kApplyGainBackwardInput:
    case OpKind::kApplyGainBackwardGain:
    case OpKind::kAddBias:
    case OpKind::kAddBiasBackward:
    case OpKind::kLayerNorm:
    case OpKind::kLayerNormBackwardInput:
    case OpKind::kLayerNormBackwardWeights:
    case OpKind::kGateHeads:
    case OpKind::kGateHeadsBackwardInput:
    case OpKind::kGateHeadsBackwardGate:
    case OpKind::kFirstColumns:
    case OpKind::kFirstColumnsBackward:
    case OpKind::kPreviousRows:
    case OpKind::kPreviousRowsBackward:
    case OpKind::kDropout:
    case OpKind::kDropoutBackward:
    case OpKind::kAdd:
    case OpKind::kAddBackward:
    case OpKind::kKvCacheAppend:
    case OpKind::kZero:
    case OpKind::kCast:
    case OpKind::kRandomInit:
      return OpClass::kPointwise;
    case OpKind::kSoftcapCrossEntropy:
    case OpKind::kSoftcapCrossEntropyBackward:
    case OpKind::kWeightedSum:
    case OpKind::kWeightedSumBackward:
    case OpKind::kPolicyLoss:
    case OpKind::kPolicyLossBackward:
    case OpKind::kPreferenceLoss:
    case OpKind::kPreferenceLossBackward:
    case OpKind::kLogits:
    case OpKind::kLogProbabilities:
    case OpKind::kSample:
      return OpClass::kLoss;
    case OpKind::kGradNorm:
    case OpKind::kGradScale:
    case OpKind::kAdamW:
    case OpKind::kMuonMomentum:
    case OpKind::kNewtonSchulz:
    case OpKind::kMuonUpdate:
      return OpClass::kOptimizer;
    case OpKind::kHostToDevice:
    case OpKind::kDeviceToHost:
      return OpClass::kTransfer;
    case OpKind::kAllReduce:
    case OpKind::kReduceScatter:
    case OpKind::kAllGather:
    case OpKind::kBroadcast:
    case OpKind::kAllToAll:
    case OpKind::kSendReceive:
    case OpKind::kBarrier:
      return OpClass::kCommunication;
  }
  NB_CHECK(false, "[time] op kind {} has no class", static_cast<int>(kind));
}

std::int64_t TimeAccount::total_ns() const {
  return std::accumulate(class_ns.begin(), class_ns.end(), std::int64_t{0});
}

std::uint64_t TimeAccount::launch_count() const {
  return std::accumulate(launches.begin(), launches.end(), std::uint64_t{0});
}

TimeAccount operator+(const TimeAccount& a, const TimeAccount& b) { return combined(a, b, 1, 1); }

TimeAccount operator-(const TimeAccount& now, const TimeAccount& before) {
  return combined(now, before, 1, -1);
}

TimeAccount repeated(const TimeAccount& now, const TimeAccount& before, std::int64_t rounds) {
  return combined(now, before, rounds + 1, -rounds);
}

}  // namespace nb
