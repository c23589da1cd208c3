#include "harness/plan/plant_faults.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/faults/limits.hpp"
#include "harness/faults/rank_fault.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/decoder/decoder.hpp"
#include "model/device/device.hpp"

namespace nb {
namespace {

// A device's own words before the suite's.
void inherit(FaultSettings& own, const FaultSettings& all) {
  own.faults.insert(own.faults.begin(), all.faults.begin(), all.faults.end());
  own.environment.insert(all.environment.begin(), all.environment.end());
  if (!own.launcher) own.launcher = all.launcher;
  if (!own.process_group_timeout_s) own.process_group_timeout_s = all.process_group_timeout_s;
  if (!own.expect) own.expect = all.expect;
}

Result<void> check_tensor(const RankFault& fault, const DecoderConfig& config,
                          const DeviceProfile& profile, const std::string& where) {
  Device device(profile, ExecutionMode::kDry);
  Decoder decoder(config, device);
  std::vector<std::string> names;
  for (const Parameter& parameter : decoder.parameters()) names.push_back(parameter.name);
  if (std::ranges::find(names, fault.tensor) != names.end()) return {};
  return bad_input(fmt::format("{}: fault \"{}\": the model has no tensor \"{}\"{}", where,
                               fault.text, fault.tensor, did_you_mean(fault.tensor, names)));
}

Result<void> check(const FaultSettings& planted, const Suite& suite, const DeviceEntry& device,
                   const std::string& where) {
  NB_TRY(const ResolvedDevice resolved, resolve_device(device, where));
  NB_TRY_VOID(
      read_limits(planted.environment, planted.process_group_timeout_s, resolved.profile, where));
  if (planted.faults.empty()) return {};
  if (!suite.stages.base)
    return bad_input(where + ": faults of ranks are planted in BASE; add /stages/base");
  const TrainSettings& base = suite.stages.base->settings;
  NB_TRY(const DecoderConfig config, decoder_config(base, suite.tokenizer.vocab_size));
  if (device.mesh->is_sharded())
    return bad_input(where + ": faults of ranks are played on meshes of dp alone, without fsdp");
  const FaultTarget target{device.mesh->ranks(), planned_iterations(base, config), base.eval_every,
                           base.checkpoint_every, resolved.profile.links.library.value == "hccl"};
  for (const std::string& text : planted.faults) {
    NB_TRY(const RankFault fault, parse_rank_fault(text, where));
    NB_TRY_VOID(check_rank_fault(fault, target, where));
    if (fault.kind == FaultKind::kNan && device.mesh->zero)
      return bad_input(fmt::format("{}: fault \"{}\" is not played with mesh/zero", where, text));
    if (fault.kind == FaultKind::kFlip)
      NB_TRY_VOID(check_tensor(fault, config, resolved.profile, where));
  }
  return {};
}

}  // namespace

Result<Suite> plant_faults(Suite suite, std::span<const std::string> more,
                           const std::string& where) {
  suite.planted.faults.insert(suite.planted.faults.end(), more.begin(), more.end());
  bool is_met = false;
  for (std::size_t i = 0; i < suite.devices.size(); ++i) {
    DeviceEntry& device = suite.devices[i];
    const std::string place = fmt::format("{}: /devices/{}", where, i);
    const bool has_ranks = device.mesh && device.mesh->ranks() > 1;
    if (!has_ranks) {
      if (!device.planted.faults.empty())
        return bad_input(fmt::format(
            "{}: faults are of ranks that train together; give it a mesh, {{\"dp\": 8}}", place));
      continue;
    }
    FaultSettings planted = device.planted;
    inherit(planted, suite.planted);
    NB_TRY_VOID(check(planted, suite, device, place));
    is_met = is_met || !planted.empty();
    // Limits change nothing where nobody is late.
    device.planted = planted.empty() ? FaultSettings() : std::move(planted);
  }
  if (!suite.planted.faults.empty() && !is_met)
    return bad_input(
        fmt::format("{}: fault \"{}\" would change nothing: no device has ranks that train "
                    "together; give one a mesh, {{\"dp\": 8}}",
                    where, suite.planted.faults.front()));
  suite.planted = {};
  return suite;
}

}  // namespace nb
