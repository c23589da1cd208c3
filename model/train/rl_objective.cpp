#include "model/train/rl_objective.hpp"

#include <fmt/core.h>

namespace nb {
namespace {

bool is_mean_of_tokens(RlObjective objective) {
  return objective == RlObjective::kCispo || objective == RlObjective::kBnpo;
}

// A limit that is asked for where nothing reads it.
Result<void> check_limits(const RlSettings& settings) {
  const auto no = [](const char* setting, const char* why) {
    return bad_input(fmt::format("{}: {}; leave it out", setting, why));
  };
  switch (settings.objective) {
    case RlObjective::kPolicyGradient:
      if (settings.clip_low != RlSettings::kClip || settings.clip_high != RlSettings::kClip)
        return no("clip_low and clip_high", "the policy gradient has no ratio to clip");
      break;
    case RlObjective::kSapo:
      if (settings.clip_low != RlSettings::kClip || settings.clip_high != RlSettings::kClip)
        return no("clip_low and clip_high",
                  "objective \"sapo\" has a gate in place of the clip (gate_up, gate_down)");
      return {};
    case RlObjective::kCispo:
      if (settings.clip_low != RlSettings::kClip)
        return no("clip_low", "objective \"cispo\" caps the ratio from above alone");
      break;
    case RlObjective::kClipped:
    case RlObjective::kGspo:
    case RlObjective::kBnpo:
    case RlObjective::kDrGrpo:
      break;
  }
  if (settings.gate_up || settings.gate_down)
    return no(settings.gate_up ? "gate_up" : "gate_down", "objective \"sapo\" alone has a gate");
  return {};
}

}  // namespace

Result<void> check_objective(const RlSettings& settings) {
  if (settings.kl_weight > 0 && !settings.has_reference)
    return bad_input("kl_weight: needs the first weights beside it; set has_reference to true");
  if (settings.objective == RlObjective::kPolicyGradient) {
    if (settings.kl_weight > 0)
      return bad_input("kl_weight: the policy gradient has none; use objective \"clipped\"");
    if (settings.updates_per_rollout > 1)
      return bad_input(
          "updates_per_rollout: the policy gradient is right for the first update alone; use "
          "objective \"clipped\"");
  }
  if (settings.pass_weights && !is_mean_of_tokens(settings.objective))
    return bad_input(
        "pass_weights: objectives \"cispo\" and \"bnpo\" alone are means over tokens; leave it "
        "out");
  return check_limits(settings);
}

bool weighs_by_tokens(const RlSettings& settings) {
  return is_mean_of_tokens(settings.objective) && settings.pass_weights == "tokens";
}

ops::PolicyOptions policy_options(const RlSettings& settings) {
  ops::PolicyOptions options = {.clip_low = settings.clip_low,
                                .clip_high = settings.clip_high,
                                .kl_weight = settings.kl_weight,
                                .sequences = settings.device_batch_size};
  switch (settings.objective) {
    case RlObjective::kPolicyGradient:
    case RlObjective::kClipped:
      break;
    case RlObjective::kGspo:
      options.form = PolicyForm::kSequenceRatio;
      break;
    case RlObjective::kSapo:
      options.form = PolicyForm::kSoftGate;
      options.gate_up = settings.gate_up.value_or(RlSettings::kGate);
      options.gate_down = settings.gate_down.value_or(RlSettings::kGate);
      break;
    case RlObjective::kCispo:
      options.form = PolicyForm::kCappedConstant;
      options.mean = ops::PolicyMean::kTokens;
      break;
    case RlObjective::kBnpo:
      options.mean = ops::PolicyMean::kTokens;
      break;
    case RlObjective::kDrGrpo:
      options.mean = ops::PolicyMean::kSum;
      options.divisor = static_cast<double>(settings.device_batch_size) *
                        static_cast<double>(settings.max_new_tokens);
      break;
  }
  return options;
}

}  // namespace nb
