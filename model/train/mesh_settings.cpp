#include "model/train/mesh_settings.hpp"

#include <fmt/format.h>

#include <utility>

#include "harness/base/check.hpp"

namespace nb {

FieldList MeshSettings::fields() {
  const FieldRules later = {.min = 1, .omits_absent = true};
  return {{"dp",
           "data-parallel ranks: cards that each train a copy on their share of a step",
           &dp,
           {.min = 1}},
          {"zero",
           "1: the ranks share the optimizers' state (ZeRO-1, nanochat's distributed AdamW and "
           "Muon); absent: each has all of it",
           &zero,
           {.min = 1, .max = 1, .omits_absent = true}},
          {"fsdp",
           "ranks that share weights, gradients and optimizer state (FSDP2): each reads its share "
           "of a step too",
           &fsdp,
           {.min = 1, .omits_absent = true}},
          {"shard",
           "of dp and fsdp together: full cuts over all ranks, hybrid within each fsdp of them",
           &shard,
           {.one_of = {"full", "hybrid"}, .omits_absent = true}},
          {"param",
           "type of weights that fsdp gathers; absent: that of the master weights",
           &param,
           {.one_of = {"fp32", "bf16"}, .omits_absent = true}},
          {"reduce",
           "type in which gradients are averaged over ranks; absent: that of the gradients",
           &reduce,
           {.one_of = {"fp32", "bf16"}, .omits_absent = true}},
          {"tp", "tensor parallel ranks, which share heads, MLP and vocabulary: BASE alone", &tp,
           later},
          {"pp", "pipeline stages: predicted only", &pp, later},
          {"cp", "context parallel ranks: not executed", &cp, later},
          {"ep", "expert parallel ranks: not executed", &ep, later}};
}

std::optional<DType> wire_type(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  NB_CHECK(*name == "fp32" || *name == "bf16", "[mesh] type {}", *name);
  return *name == "bf16" ? DType::kBf16 : DType::kFp32;
}

Result<void> check_mesh(const MeshSettings& mesh) {
  struct Later {
    const char* key;
    const std::optional<std::int64_t>& ranks;
    const char* what;
  };
  for (const Later& one :
       {Later{"pp", mesh.pp, "pipeline parallel"}, Later{"cp", mesh.cp, "context parallel"},
        Later{"ep", mesh.ep, "expert parallel"}})
    if (one.ranks.value_or(1) > 1)
      return bad_input(
          fmt::format("mesh/{}: {} training is not executed here, only dp, zero, fsdp and tp are; "
                      "`npubench predict "
                      "--mesh` tells what pp takes",
                      one.key, one.what));
  if (mesh.tensor_ranks() > 1 && (mesh.is_sharded() || mesh.zero))
    return bad_input(fmt::format("mesh/{}: is not executed beside tp; leave one of the two out",
                                 mesh.zero ? "zero" : "fsdp"));
  if (mesh.is_sharded() && mesh.zero)
    return bad_input(
        "mesh/zero: decides nothing beside fsdp, whose ranks share the optimizers' state already; "
        "leave one out");
  if (mesh.reduce && (mesh.data_ranks() == 1 || mesh.zero))
    return bad_input(fmt::format(
        "mesh/reduce: {}; leave it out",
        mesh.zero ? "ZeRO-1 reduces gradients in their own type" : "decides nothing on one rank"));
  for (const auto& [key, value] :
       {std::pair{"shard", &mesh.shard}, std::pair{"param", &mesh.param}})
    if (*value && !mesh.is_sharded())
      return bad_input(
          fmt::format("mesh/{}: decides nothing without fsdp of two ranks or more; add it", key));
  if (mesh.is_sharded() && mesh.dp > 1 && !mesh.shard)
    return bad_input(fmt::format(
        "mesh/shard: weights of dp {0} × fsdp {1} may be cut over all {2} ranks (full) or within "
        "each {1} of them (hybrid); say which",
        mesh.dp, *mesh.fsdp, mesh.ranks()));
  if (mesh.shard == "hybrid" && mesh.dp == 1)
    return bad_input("mesh/shard: hybrid needs dp of two ranks or more; leave it out, or say full");
  return {};
}

Result<void> check_ranks(const std::optional<MeshSettings>& mesh, std::int64_t parts,
                         const DeviceProfile& profile, Shared shared, Parallel parallel) {
  if (!mesh) return {};
  NB_TRY_VOID(check_mesh(*mesh));
  if (parallel == Parallel::kData && mesh->tensor_ranks() > 1)
    return bad_input(
        "mesh/tp: tensor parallel training is executed in BASE alone; leave it out, or end the "
        "suite with BASE");
  const std::int64_t ranks = mesh->data_ranks();
  const char* key = mesh->is_sharded() ? (mesh->dp > 1 ? "mesh" : "mesh/fsdp") : "mesh/dp";
  if (parts % ranks != 0) {
    const bool is_batches = shared == Shared::kMicroBatches;
    return bad_input(fmt::format(
        "{}: {} ranks cannot share the {} {}{} of a step evenly; choose a divisor, or another "
        "batch",
        key, ranks, parts, is_batches ? "micro-batch" : "question",
        parts == 1   ? ""
        : is_batches ? "es"
                     : "s"));
  }
  if (const std::int64_t most = profile.links.devices.whole(); mesh->ranks() > most)
    return bad_input(fmt::format(
        "{}: {} ranks of {}, which has {} card{} in a node; ranks train within one node",
        mesh->tensor_ranks() > 1 ? "mesh" : key, mesh->ranks(), profile.name(), most,
        most == 1 ? "" : "s"));
  return {};
}

}  // namespace nb
