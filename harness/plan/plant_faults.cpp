#include "harness/plan/plant_faults.hpp"

#include <fmt/format.h>

#include "harness/faults/limits.hpp"
#include "harness/faults/rank_fault.hpp"
#include "harness/suite/device_entry.hpp"
#include "model/decoder/decoder.hpp"
#include "model/decoder/part.hpp"
#include "model/device/device.hpp"
#include "model/optim/row_shards.hpp"

namespace nb {
namespace {

// A device's own words before the suite's.
void inherit(FaultSettings& own, const FaultSettings& all) {
  own.faults.insert(own.faults.begin(), all.faults.begin(), all.faults.end());
  own.environment.insert(all.environment.begin(), all.environment.end());
  if (!own.launcher) own.launcher = all.launcher;
  if (!own.process_group_timeout_s) own.process_group_timeout_s = all.process_group_timeout_s;
  if (!own.expect) own.expect = all.expect;
  if (!own.tensor_digests) own.tensor_digests = all.tensor_digests;
}

// The rank of a flip has some of its tensor.
Result<void> check_tensor(const RankFault& fault, const DecoderConfig& config,
                          const MeshSettings& mesh, const DeviceProfile& profile,
                          const std::string& where) {
  Device device(profile, ExecutionMode::kDry);
  Decoder decoder(config, device);
  std::vector<std::string> names;
  for (const Parameter& parameter : decoder.parameters()) {
    names.push_back(parameter.name);
    if (parameter.name != fault.tensor) continue;
    if (mesh.stages() > 1) {
      const auto stages = static_cast<int>(mesh.stages());
      const auto copies = static_cast<std::int64_t>(mesh.ranks()) / stages;
      const auto stage = static_cast<int>(fault.first_rank() / copies);
      if (reads(config, part_of(config, stage, stages), fault.tensor)) return {};
      return bad_input(
          fmt::format("{}: fault \"{}\" would change nothing: stage {}, of which rank {} is, does "
                      "not have {}",
                      where, fault.text, stage, fault.first_rank(), fault.tensor));
    }
    if (mesh.tensor_ranks() > 1) return {};  // each has some of all
    const auto pieces = static_cast<int>(mesh.is_sharded() ? mesh.ranks() / mesh.copies() : 1);
    const auto rank = static_cast<int>(fault.first_rank());
    const Shape& shape = parameter.value.shape();
    if (row_shard(shape, rank % pieces, pieces).count > 0) return {};
    return bad_input(
        fmt::format("{}: fault \"{}\" would change nothing: of the {} rows of {} rank {} has none",
                    where, fault.text, shape[0], fault.tensor, rank));
  }
  return bad_input(fmt::format("{}: fault \"{}\": the model has no tensor \"{}\"{}", where,
                               fault.text, fault.tensor, did_you_mean(fault.tensor, names)));
}

// Ranks that share a model wait for each other within their passes: no call of one is alone, and no
// time is its own.
Result<void> check_parts(const RankFault& fault, const MeshSettings& mesh,
                         const std::string& where) {
  const bool is_of_alike = fault.kind == FaultKind::kMismatch || fault.kind == FaultKind::kOrder ||
                           fault.kind == FaultKind::kSlow;
  if (mesh.tensor_ranks() > 1 && mesh.stages() > 1)
    return bad_input(fmt::format("{}: fault \"{}\" is not played on a mesh with both tp and pp",
                                 where, fault.text));
  if ((mesh.tensor_ranks() == 1 && mesh.stages() == 1) || !is_of_alike) return {};
  return bad_input(
      fmt::format("{}: fault \"{}\" is played on meshes of dp and fsdp alone", where, fault.text));
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
  for (const std::optional<std::int64_t>& other : {device.mesh->cp, device.mesh->ep})
    if (other.value_or(1) > 1)
      return bad_input(where +
                       ": faults of ranks are played on meshes of dp, fsdp, tp and pp alone");
  const FaultTarget target{device.mesh->ranks(), planned_iterations(base, config), base.eval_every,
                           base.checkpoint_every, resolved.profile.links.library.value == "hccl"};
  for (const std::string& text : planted.faults) {
    NB_TRY(const RankFault fault, parse_rank_fault(text, where));
    NB_TRY_VOID(check_rank_fault(fault, target, where));
    NB_TRY_VOID(check_parts(fault, *device.mesh, where));
    if (fault.kind == FaultKind::kFlip)
      NB_TRY_VOID(check_tensor(fault, config, *device.mesh, resolved.profile, where));
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
      if (!device.planted.empty())
        return bad_input(
            fmt::format("{}: {} are of ranks that train together; give it a mesh, {{\"dp\": 8}}",
                        place, device.planted.faults.empty() ? "tensor_digests" : "faults"));
      continue;
    }
    FaultSettings planted = device.planted;
    inherit(planted, suite.planted);
    NB_TRY_VOID(check(planted, suite, device, place));
    is_met = is_met || !planted.faults.empty();
    device.planted = planted.faults.empty() ? planted.without_faults() : std::move(planted);
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
