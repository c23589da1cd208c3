// How many cards train together, and what each of them holds (data_ranks.hpp trains).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"
#include "model/decoder/config.hpp"
#include "model/device/profile.hpp"
#include "model/tensor/dtype.hpp"
#include "model/train/step_row.hpp"

namespace nb {

// How a device entry of a suite lays out its cards: dp × fsdp × tp × pp × cp of them, those of
// tp or cp side by side.
struct MeshSettings {
  std::int64_t dp = 1;  // data-parallel ranks
  // 1: each holds a part of the optimizers' state and updates a part of the weights (ZeRO-1, as
  // nanochat's DistAdamW and DistMuon); absent: all hold and update everything.
  std::optional<std::int64_t> zero = {};
  // Ranks that share weights, gradients and optimizer state (sharded_weights.hpp); absent: none do.
  std::optional<std::int64_t> fsdp = {};
  // Of dp and fsdp both above 1: "full" cuts over all ranks, "hybrid" within each fsdp ranks, of
  // which there are dp copies.
  std::optional<std::string> shard = {};
  std::optional<std::string> param = {};   // type of gathered weights: "fp32", "bf16"
  std::optional<std::string> reduce = {};  // type in which gradients are averaged; not of zero
  // Ranks that share the heads, the MLP and the vocabulary (tensor_shard.hpp), and rows of tokens
  // between their products.
  std::optional<std::int64_t> tp = {};
  std::optional<bool> sequence_parallel = {};
  // Stages of a pipeline (pipeline.hpp); micro-batches between two drains of it, absent: all of a
  // step; "gpipe" or "1f1b", absent: the latter.
  std::optional<std::int64_t> pp = {}, micro_batches = {};
  std::optional<std::string> schedule = {};
  // Ranks that share the tokens of every sequence (context_rank.hpp); BASE alone.
  std::optional<std::int64_t> cp = {};
  std::optional<std::string> context = {};  // "ulysses" or "ring"; absent: the former
  // Refused by name here.
  std::optional<std::int64_t> ep = {};

  std::int64_t ranks() const { return data_ranks() * tensor_ranks() * stages() * context_ranks(); }
  std::int64_t data_ranks() const { return dp * fsdp.value_or(1); }  // that share a step
  std::int64_t tensor_ranks() const { return tp.value_or(1); }
  std::int64_t stages() const { return pp.value_or(1); }
  bool is_sequence_parallel() const { return sequence_parallel.value_or(false); }
  std::int64_t context_ranks() const { return cp.value_or(1); }
  std::string context_name() const { return context.value_or("ulysses"); }
  bool is_sharded() const { return fsdp.value_or(1) > 1; }
  std::int64_t copies() const { return is_sharded() && shard == "hybrid" ? dp : 1; }
  FieldList fields();
};

// What one key of a mesh says without the others; bad_input names what can be done instead.
Result<void> check_mesh(const MeshSettings& mesh);
// The mesh's pipeline and tensor parallel ranks of a model in a stage of training, with the
// numbers; with adapters: of them beside frozen weights. Without pp and tp nothing is refused.
Result<void> check_model_ranks(const std::optional<MeshSettings>& mesh, const DecoderConfig& config,
                               TrainingStage stage, bool has_adapters = false);
// "fp32", "bf16"; none where nothing is said. NB_CHECK: one of these.
std::optional<DType> wire_type(const std::optional<std::string>& name);

enum class Shared : std::uint8_t { kMicroBatches, kQuestions };  // what the ranks share of a step
enum class Parallel : std::uint8_t { kData, kTensor };           // what a stage executes

// bad_input with the numbers: check_mesh(), the parts of a step do not go evenly over the ranks, or
// a node of this machine has fewer cards.
Result<void> check_ranks(const std::optional<MeshSettings>& mesh, std::int64_t parts,
                         const DeviceProfile& profile, Shared shared = Shared::kMicroBatches,
                         Parallel parallel = Parallel::kData);

}  // namespace nb
