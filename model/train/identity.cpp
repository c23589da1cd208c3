#include "model/train/identity.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/fields.hpp"
#include "model/device/device.hpp"

namespace nb {

Json identity_of_run(Json hashed_settings, const Decoder& decoder, const Tokenizer& tokenizer) {
  hashed_settings.erase("keep_steps");
  const DeviceProfile& profile = decoder.device().profile();
  Json policy = Json::object();
  const Use uses[] = {Use::kTrain};
  for (const PolicyEntry& entry :
       entries_in(profile.numerics_card, profile.numerics, uses, /*cards=*/1))
    policy[entry.name] = entry.value;
  return {{"settings", std::move(hashed_settings)},
          {"model", print_struct(decoder.config())},
          {"device", profile.name()},
          {"numerics", profile.numerics_of},
          {"policy", std::move(policy)},
          {"tokenizer", tokenizer.hash()}};
}

Result<void> check_trainable(const Device& device) {
  if (device.numerics().loss_scaling == LossScaling::kNone) return {};
  return bad_input(
      fmt::format("{} asks for loss scaling, which training does not support yet; use a device "
                  "with bf16 or fp32 storage",
                  device.profile().name()));
}

}  // namespace nb
