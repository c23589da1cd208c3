#include "model/train/adamw_choice.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "model/decoder/presets.hpp"
#include "model/train/checkpoint.hpp"

namespace nb {
namespace {

constexpr const char* kKey = "adamw_denominator";

std::vector<std::string> names() {
  return {std::string(name(AdamWDenominator::kScaledStep)),
          std::string(name(AdamWDenominator::kBiasCorrected))};
}

Result<AdamWDenominator> named(const std::string& text) {
  for (const auto one : {AdamWDenominator::kScaledStep, AdamWDenominator::kBiasCorrected})
    if (name(one) == text) return one;
  return bad_input(fmt::format("{}: \"{}\" is neither {} nor {}{}", kKey, text, names()[0],
                               names()[1], did_you_mean(text, names())));
}

}  // namespace

Field adamw_field(std::optional<std::string>* asked) {
  return {kKey,
          "where AdamW adds its epsilon: to the root of the plain second moment, the step scaled "
          "(nanochat's DistAdamW of 2025-10), or to the root of the bias-corrected one "
          "(torch.optim.AdamW, which that nanochat takes on one card, and nanochat since 4ddc803); "
          "absent: as the model's preset, or the stage before",
          asked,
          {.one_of = names(), .omits_absent = true}};
}

Result<AdamWDenominator> base_adamw(const TrainSettings& settings) {
  if (settings.adamw_denominator) return named(*settings.adamw_denominator);
  NB_TRY(const std::string_view of_preset,
         preset_adamw(settings.model.value_or(std::string(kDefaultPreset))));
  return named(std::string(of_preset));
}

Result<AdamWDenominator> stage_adamw(const std::optional<std::string>& asked,
                                     const SafetensorsFile& parent) {
  if (asked) return named(*asked);
  if (!parent.texts().contains("identity")) {
    NB_TRY(const DecoderConfig config, read_model_config(parent));
    return config.architecture.value_embeddings ? AdamWDenominator::kBiasCorrected
                                                : AdamWDenominator::kScaledStep;
  }
  NB_TRY(const std::string text, parent.text("identity"));
  NB_TRY(const Json identity, parse_json(text, parent.path() + ": /__metadata__/identity"));
  if (!identity.is_object() || !identity.contains(kKey)) return AdamWDenominator::kScaledStep;
  if (!identity.at(kKey).is_string())
    return bad_input(fmt::format("{}: {} is no text", parent.path(), kKey));
  NB_TRY(const AdamWDenominator denominator, named(identity.at(kKey)), parent.path());
  return denominator;
}

void add_adamw(AdamWDenominator denominator, Json& identity) {
  if (denominator != AdamWDenominator::kScaledStep) identity[kKey] = name(denominator);
}

}  // namespace nb
