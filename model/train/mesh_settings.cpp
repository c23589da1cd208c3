#include "model/train/mesh_settings.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "harness/base/check.hpp"
#include "model/train/tensor_cuts.hpp"

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
          {"tp", "tensor parallel ranks, which share heads, MLP and vocabulary", &tp, later},
          {"sequence_parallel",
           "of tp: the ranks share rows of tokens, too, between their products; absent: each has "
           "all of them",
           &sequence_parallel,
           {.omits_absent = true}},
          {"pp", "stages of a pipeline: cards that each train a run of the blocks", &pp, later},
          {"micro_batches",
           "of a pipeline: micro-batches that it takes between two drains; absent: all of a step",
           &micro_batches, later},
          {"schedule",
           "of a pipeline: all forwards first, or one forward and one backward in turn; absent: "
           "1f1b",
           &schedule,
           {.one_of = {"gpipe", "1f1b"}, .omits_absent = true}},
          {"cp", "context parallel ranks, which share the tokens of every sequence: BASE alone",
           &cp, later},
          {"context",
           "of cp, how attention sees all tokens: heads for tokens by all-to-alls (ulysses), or "
           "keys and values around a ring; absent: ulysses",
           &context,
           {.one_of = {"ulysses", "ring"}, .omits_absent = true}},
          {"ep", "expert parallel ranks: not executed", &ep, later}};
}

std::optional<DType> wire_type(const std::optional<std::string>& name) {
  if (!name) return std::nullopt;
  NB_CHECK(*name == "fp32" || *name == "bf16", "[mesh] type {}", *name);
  return *name == "bf16" ? DType::kBf16 : DType::kFp32;
}

namespace {

// What pp says with the other keys.
Result<void> check_stages(const MeshSettings& mesh) {
  if (mesh.stages() == 1) {
    for (const auto& [key, is_given] : {std::pair{"micro_batches", mesh.micro_batches.has_value()},
                                        std::pair{"schedule", mesh.schedule.has_value()}})
      if (is_given)
        return bad_input(
            fmt::format("mesh/{}: decides nothing without pp of two stages or more; add it", key));
    return {};
  }
  if (mesh.is_sharded())
    return bad_input(
        fmt::format("mesh/pp: {} stages beside fsdp {}: the weights of a stage are not cut here; "
                    "leave one of the two out",
                    mesh.stages(), *mesh.fsdp));
  if (mesh.zero)
    return bad_input(
        fmt::format("mesh/pp: {} stages beside zero: copies of a stage do not share their "
                    "optimizers here; leave one of the two out",
                    mesh.stages()));
  return {};
}

// What cp says with the other keys.
Result<void> check_context_keys(const MeshSettings& mesh) {
  if (mesh.context_ranks() == 1 && mesh.context)
    return bad_input("mesh/context: decides nothing without cp of two ranks or more; add it");
  if (mesh.context_ranks() == 1) return {};
  for (const auto& [key, is_there] :
       {std::pair{"fsdp", mesh.is_sharded()}, std::pair{"tp", mesh.tensor_ranks() > 1},
        std::pair{"pp", mesh.stages() > 1}})
    if (is_there)
      return bad_input(
          fmt::format("mesh/{}: is not executed beside cp; leave one of the two out", key));
  return {};
}

}  // namespace

Result<void> check_model_ranks(const std::optional<MeshSettings>& mesh, const DecoderConfig& config,
                               TrainingStage stage, bool has_adapters) {
  if (!mesh || mesh->stages() * mesh->tensor_ranks() == 1) return {};
  const std::int64_t stages = mesh->stages(), parts = mesh->tensor_ranks();
  const std::string key = stages > 1 ? "mesh/pp" : "mesh/tp";
  const std::string ranks = stages > 1 ? fmt::format("{} stages of a pipeline", stages)
                                       : fmt::format("{} tensor parallel ranks", parts);
  if (stage == TrainingStage::kDpo || stage == TrainingStage::kRl)
    return bad_input(
        fmt::format("{}: {} is not trained on {} here, only base, mid and sft are; leave one of "
                    "the two out",
                    key, name(stage), ranks));
  if (has_adapters)
    return bad_input(fmt::format(
        "{}: adapters (lora) are not trained on {} here; leave one of the two out", key, ranks));
  NB_TRY_VOID(check_parts(config, parts));
  if (mesh->is_sequence_parallel() && stage != TrainingStage::kBase)
    return bad_input(fmt::format(
        "mesh/sequence_parallel: {} is not trained so here, whose rows have any length; leave one "
        "of the two out",
        name(stage)));
  if (mesh->is_sequence_parallel() && config.sequence_len % parts != 0)
    return bad_input(fmt::format(
        "mesh/sequence_parallel: {} ranks cannot share the {} tokens of a row evenly; choose a "
        "divisor, or another sequence_len",
        parts, config.sequence_len));
  if (stages == 1) return {};
  if (config.n_layer < stages)
    return bad_input(
        fmt::format("mesh/pp: {} stages of {} block{}: each needs one or more; choose fewer "
                    "stages, or another depth",
                    stages, config.n_layer, config.n_layer == 1 ? "" : "s"));
  if (config.n_layer % stages != 0)
    return bad_input(
        fmt::format("mesh/pp: {} stages cannot share the {} blocks evenly; choose a divisor, or "
                    "another depth",
                    stages, config.n_layer));
  return {};
}

Result<void> check_mesh(const MeshSettings& mesh) {
  if (mesh.ep.value_or(1) > 1)
    return bad_input(
        "mesh/ep: expert parallel training is not executed here, only dp, zero, fsdp, tp, pp and "
        "cp are");
  NB_TRY_VOID(check_stages(mesh));
  NB_TRY_VOID(check_context_keys(mesh));
  if (mesh.sequence_parallel && mesh.tensor_ranks() == 1)
    return bad_input(
        "mesh/sequence_parallel: decides nothing without tp of two ranks or more; add it");
  if (mesh.tensor_ranks() > 1 && (mesh.is_sharded() || mesh.zero))
    return bad_input(fmt::format("mesh/{}: is not executed beside tp; leave one of the two out",
                                 mesh.zero ? "zero" : "fsdp"));
  if (mesh.is_sharded() && mesh.zero)
    return bad_input(
        "mesh/zero: decides nothing beside fsdp, whose ranks share the optimizers' state already; "
        "leave one out");
  if (mesh.reduce && ((mesh.data_ranks() == 1 && mesh.context_ranks() == 1) || mesh.zero))
    return bad_input(fmt::format("mesh/reduce: {}; leave it out",
                                 mesh.zero ? "ZeRO-1 reduces gradients in their own type"
                                 : mesh.ranks() == 1
                                     ? "decides nothing on one rank"
                                     : "decides nothing without dp of two ranks or more"));
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
  if (parallel == Parallel::kData && mesh->context_ranks() > 1)
    return bad_input(
        "mesh/cp: context parallel training is executed in BASE alone; leave it out, or end the "
        "suite with BASE");
  const std::int64_t readers = mesh->data_ranks();
  const char* key = mesh->is_sharded() ? (mesh->dp > 1 ? "mesh" : "mesh/fsdp") : "mesh/dp";
  if (parts % readers != 0) {
    const bool is_batches = shared == Shared::kMicroBatches;
    return bad_input(fmt::format(
        "{}: {} ranks cannot share the {} {}{} of a step evenly; choose a divisor, or another "
        "batch",
        key, readers, parts, is_batches ? "micro-batch" : "question",
        parts == 1   ? ""
        : is_batches ? "es"
                     : "s"));
  }
  if (mesh->micro_batches && parts / readers % *mesh->micro_batches != 0)
    return bad_input(
        fmt::format("mesh/micro_batches: {} do not divide the {} micro-batches that a pipeline has "
                    "in a step; choose a divisor, or another batch",
                    *mesh->micro_batches, parts / readers));
  if (mesh->stages() > 1) key = mesh->dp > 1 ? "mesh" : "mesh/pp";
  if (const std::int64_t most = profile.links.devices.whole(); mesh->ranks() > most)
    return bad_input(fmt::format(
        "{}: {} ranks of {}, which has {} card{} in a node; ranks train within one node",
        mesh->tensor_ranks() > 1 || mesh->context_ranks() > 1 ? "mesh" : key, mesh->ranks(),
        profile.name(), most, most == 1 ? "" : "s"));
  return {};
}

}  // namespace nb
