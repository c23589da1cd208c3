#include "model/train/identity.hpp"

#include <fmt/core.h>

#include <nlohmann/json.hpp>

#include "harness/base/fields.hpp"
#include "harness/base/hash.hpp"
#include "model/device/device.hpp"

namespace nb {
namespace {

// Of all numbers that the simulated clock and the allocator of a checkpoint follow from.
std::string digest_of_machine(const DeviceProfile& profile) {
  return sha256_json({{"matrix", print_struct(profile.matrix)},
                      {"vector", print_struct(profile.vector)},
                      {"memory", print_struct(profile.memory)},
                      {"launch", print_struct(profile.launch)},
                      {"host_link", print_struct(profile.host_link)},
                      {"links", print_struct(profile.links)},
                      {"software", print_struct(profile.software)}});
}

}  // namespace

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
          {"machine", digest_of_machine(profile)},
          {"numerics", profile.numerics_of},
          {"policy", std::move(policy)},
          {"tokenizer", tokenizer.hash()}};
}

Result<void> check_trainable(const Device& device) {
  const NumericsPolicy& numerics = device.numerics();
  if (numerics.loss_scaling == LossScaling::kStatic)
    return bad_input(
        fmt::format("{}: loss_scaling \"static\" is not executed here; say \"dynamic\" or \"none\"",
                    device.profile().name()));
  if (numerics.loss_scaling == LossScaling::kDynamic &&
      numerics.fp16_overflow == Fp16Overflow::kSaturate)
    return bad_input(
        fmt::format("{}: loss_scaling \"dynamic\" sees an overflow by values that are not finite, "
                    "which fp16_overflow \"saturate\" never makes; say \"none\"",
                    device.profile().name()));
  return {};
}

}  // namespace nb
