#include "harness/run/step_profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/base/check.hpp"
#include "harness/base/fields.hpp"

namespace nb {
namespace {

enum class Phase { kForward, kBackward, kOptimizer, kTransfer };
struct PhaseName {
  Phase phase;
  const char* name;
};
constexpr PhaseName kPhases[] = {{Phase::kForward, "forward"},
                                 {Phase::kBackward, "backward"},
                                 {Phase::kOptimizer, "optimizer"},
                                 {Phase::kTransfer, "transfers"}};

Phase phase_of(OpKind kind) {
  switch (kind) {
    case OpKind::kEmbedding:
    case OpKind::kRmsNorm:
    case OpKind::kLinear:
    case OpKind::kRotary:
    case OpKind::kAttention:
    case OpKind::kReluSquared:
    case OpKind::kSilu:
    case OpKind::kGelu:
    case OpKind::kSigmoid:
    case OpKind::kMultiply:
    case OpKind::kScale:
    case OpKind::kApplyGain:
    case OpKind::kAddBias:
    case OpKind::kLayerNorm:
    case OpKind::kGateHeads:
    case OpKind::kFirstColumns:
    case OpKind::kPreviousRows:
    case OpKind::kDropout:
    case OpKind::kAdd:
    case OpKind::kSoftcapCrossEntropy:
    case OpKind::kWeightedSum:
    case OpKind::kPolicyLoss:
    case OpKind::kPreferenceLoss:
    case OpKind::kLogits:
    case OpKind::kLogProbabilities:
    case OpKind::kSample:
    case OpKind::kKvCacheAppend:
      return Phase::kForward;
    case OpKind::kEmbeddingBackward:
    case OpKind::kRmsNormBackward:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight:
    case OpKind::kRotaryBackward:
    case OpKind::kAttentionBackward:
    case OpKind::kReluSquaredBackward:
    case OpKind::kSiluBackward:
    case OpKind::kGeluBackward:
    case OpKind::kSigmoidBackward:
    case OpKind::kMultiplyBackward:
    case OpKind::kScaleBackwardInput:
    case OpKind::kScaleBackwardFactor:
    case OpKind::kApplyGainBackwardInput:
    case OpKind::kApplyGainBackwardGain:
    case OpKind::kAddBiasBackward:
    case OpKind::kLayerNormBackwardInput:
    case OpKind::kLayerNormBackwardWeights:
    case OpKind::kGateHeadsBackwardInput:
    case OpKind::kGateHeadsBackwardGate:
    case OpKind::kFirstColumnsBackward:
    case OpKind::kPreviousRowsBackward:
    case OpKind::kDropoutBackward:
    case OpKind::kAddBackward:
    case OpKind::kSoftcapCrossEntropyBackward:
    case OpKind::kWeightedSumBackward:
    case OpKind::kPolicyLossBackward:
    case OpKind::kPreferenceLossBackward:
      return Phase::kBackward;
    case OpKind::kGradNorm:
    case OpKind::kGradScale:
    case OpKind::kAdamW:
    case OpKind::kMuonMomentum:
    case OpKind::kNewtonSchulz:
    case OpKind::kMuonUpdate:
    case OpKind::kZero:
    case OpKind::kCast:
    case OpKind::kRandomInit:
      return Phase::kOptimizer;
    case OpKind::kHostToDevice:
    case OpKind::kDeviceToHost:
    case OpKind::kAllReduce:
    case OpKind::kReduceScatter:
    case OpKind::kAllGather:
    case OpKind::kBroadcast:
    case OpKind::kAllToAll:
    case OpKind::kSendReceive:
    case OpKind::kBarrier:
      return Phase::kTransfer;
  }
  NB_CHECK(false, "[profile] no such kind of op {}", static_cast<int>(kind));
}

void add_up(ProfileNode& parent) {
  for (const ProfileNode& child : parent.children) {
    parent.calls += child.calls;
    parent.time_ns += child.time_ns;
    parent.flops += child.flops;
  }
}

void slowest_first(std::vector<ProfileNode>& nodes) {
  std::stable_sort(nodes.begin(), nodes.end(), [](const ProfileNode& a, const ProfileNode& b) {
    return a.time_ns > b.time_ns;
  });
}

ProfileNode& child_named(ProfileNode& parent, std::string_view name) {
  for (ProfileNode& child : parent.children)
    if (child.name == name) return child;
  parent.children.push_back({.name = std::string(name), .children = {}});
  return parent.children.back();
}

// An op without a label still has a box of its own.
ProfileNode leaf(const HostProfileEntry& entry) {
  return {.name = entry.label.empty() ? std::string(name(entry.kind)) : entry.label,
          .calls = entry.calls,
          .time_ns = entry.time_ns,
          .flops = entry.flops,
          .children = {}};
}

Json node_json(const ProfileNode& node) {
  Json children = Json::array();
  for (const ProfileNode& child : node.children) children.push_back(node_json(child));
  return {{"name", node.name},
          {"calls", node.calls},
          {"time_ns", node.time_ns},
          {"flops", node.flops},
          {"children", children}};
}

ProfileNode parse_node(const Json& json) {
  ProfileNode node{.name = json.at("name"),
                   .calls = json.at("calls"),
                   .time_ns = json.at("time_ns"),
                   .flops = json.at("flops"),
                   .children = {}};
  for (const Json& child : json.at("children")) node.children.push_back(parse_node(child));
  return node;
}

}  // namespace

StepProfile step_profile(const HostProfile& profile) {
  StepProfile result;
  result.steps = profile.spans();
  result.step.name = "step";
  for (const PhaseName& phase : kPhases) {
    ProfileNode node{.name = phase.name, .children = {}};
    for (const HostProfileEntry& entry : profile.entries())
      if (phase_of(entry.kind) == phase.phase)
        child_named(node, name(entry.kind)).children.push_back(leaf(entry));
    for (ProfileNode& kind : node.children) {
      slowest_first(kind.children);
      add_up(kind);
    }
    slowest_first(node.children);
    add_up(node);
    if (node.calls > 0) result.step.children.push_back(std::move(node));
  }
  result.step.children.push_back(
      {.name = "simulated device", .time_ns = profile.bookkeeping_ns(), .children = {}});
  std::int64_t known_ns = 0;
  for (const ProfileNode& phase : result.step.children) known_ns += phase.time_ns;
  result.step.children.push_back(
      {.name = "between ops",
       .time_ns = std::max<std::int64_t>(0, profile.elapsed_ns() - known_ns),
       .children = {}});
  add_up(result.step);
  return result;
}

Json to_json(const StepProfile& profile) {
  return {{"clock", "host"},
          {"steps", profile.steps},
          {"simd", profile.simd},
          {"threads", profile.threads},
          {"peak_gflop_s", profile.peak_gflop_s},
          {"step", node_json(profile.step)}};
}

Result<StepProfile> parse_step_profile(const Json& json, const std::string& where) {
  try {
    return StepProfile{.steps = json.at("steps"),
                       .simd = json.at("simd"),
                       .threads = json.at("threads"),
                       .peak_gflop_s = json.at("peak_gflop_s"),
                       .step = parse_node(json.at("step"))};
  } catch (const Json::exception& error) {
    return run_error(fmt::format("{}: not a profile of training steps: {}", where, error.what()));
  }
}

TextTable profile_table(const StepProfile& profile) {
  TextTable table{{"host time of a step", "calls", "time", "share", "rate", "of peak"}, {}};
  const auto steps = static_cast<double>(std::max<std::int64_t>(1, profile.steps));
  const auto whole = static_cast<double>(std::max<std::int64_t>(1, profile.step.time_ns));
  const auto add = [&](const ProfileNode& node, const std::string& indent) {
    const auto time_ns = static_cast<double>(node.time_ns);
    std::vector<std::string> row = {
        indent + node.name, fmt::format("{:.0f}", static_cast<double>(node.calls) / steps),
        human_time_ns(time_ns / steps), fmt::format("{:.1f} %", 100 * time_ns / whole)};
    if (node.flops > 0 && node.time_ns > 0) {
      const double rate = node.flops / time_ns;
      row.push_back(human_rate(rate * 1e9, "flop/s"));
      if (profile.peak_gflop_s > 0)
        row.push_back(fmt::format("{:.1f} %", 100 * rate / profile.peak_gflop_s));
    }
    table.rows.push_back(std::move(row));
  };
  add(profile.step, "");
  for (const ProfileNode& phase : profile.step.children) {
    add(phase, "  ");
    for (const ProfileNode& kind : phase.children) add(kind, "    ");
  }
  return table;
}

}  // namespace nb
