// A training job of Megatron's kind: a dense decoder and how it is cut over cards. What the closed
// forms of step time (megatron_step.hpp) and memory (megatron_memory.hpp) are asked about. Knows
// sizes and counts; no machine, no time. Plain values; thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "harness/base/fields.hpp"
#include "harness/base/result.hpp"

namespace nb {

struct CalibrationRow;

struct MegatronModel {
  std::int64_t layers = 0, width = 0, hidden = 0, heads = 0, kv_heads = 0;
  std::int64_t head_dim = 0;  // 0: width / heads
  std::int64_t vocab = 0;
  bool is_gated = true;     // SwiGLU or GeGLU: three matrices in an MLP, else two
  bool is_tied = false;     // the head is the embedding table
  std::int64_t window = 0;  // keys that a query sees; 0: all before it
  FieldList fields();       // layers, width, hidden, heads and vocab are required

  std::int64_t q_width() const { return heads * (head_dim > 0 ? head_dim : width / heads); }
  std::int64_t kv_width() const { return q_width() / heads * kv_heads; }
  std::int64_t layer_weights() const;              // matrices of one layer
  std::int64_t parameter_count() const;            // with norms, embedding and head
  double visible_keys(std::int64_t length) const;  // mean over the queries of a row
};

enum class MegatronRecompute { kNone, kFull };

struct MegatronRun {
  std::int64_t sequence_len = 4096;
  std::int64_t micro_batch = 1, global_batch = 1;  // rows
  std::int64_t ranks = 1;
  std::optional<std::int64_t> nodes = {};  // absent: as few as hold the ranks
  std::int64_t tp = 1, pp = 1, vpp = 1, cp = 1;
  MegatronRecompute recompute = MegatronRecompute::kNone;
  std::int64_t recompute_layers = 0;  // of a stage, with kFull; 0: all of them
  bool is_fp16 = false;               // else bf16
  bool sequence_parallel = true;
  bool distributed_optimizer = false;
  bool mc2 = false;  // products overlap with their collective
  bool overlap_grad_reduce = false;
  bool fused_norm = true, fused_swiglu = true, fused_rope = true;
  // Off: the weight gradient is stored in 16 bits, then added to the fp32 one by another kernel.
  // Every script of aeeeeeep/ModelLink has --no-gradient-accumulation-fusion.
  bool fused_gradient_accumulation = false;
  // MindSpeed's --reuse-fp32-param: the 16-bit parameter is half of its fp32 master.
  bool reuse_fp32_param = false;
  // Adam is torch_npu.npu_apply_adam_w, which MindSpeed called before commit cbe43635 (April 2025):
  // an operator that takes no view, so each gradient, a view of one buffer, is copied first.
  bool adam_copies_gradient = false;

  // As in the columns of the calibration's rows.
  FieldList fields();

  // Share of a stage's layers whose forward pass is computed again.
  double recomputed_share(std::int64_t layers) const {
    if (recompute == MegatronRecompute::kNone) return 0;
    return recompute_layers > 0
               ? static_cast<double>(recompute_layers * pp) / static_cast<double>(layers)
               : 1;
  }
  std::int64_t dp() const { return ranks / (tp * pp * cp); }
  std::int64_t micro_batches() const { return global_batch / (micro_batch * dp()); }
};

struct MegatronJob {
  std::string name;
  MegatronModel model;
  MegatronRun run;

  double tokens_per_step() const {
    return static_cast<double>(run.global_batch * run.sequence_len);
  }
};

// bad_input, one sentence: ranks that tp × pp does not divide, heads or widths that tp does not,
// layers that pp × vpp does not, rows that do not fill micro-batches.
Result<void> check_job(const MegatronJob& job);

// Of one token, forward and backward: 6 × weights of products, and 12 × layers × query width × keys
// of attention. full: every key of the row counts, as Megatron's own throughput does; causal: only
// those that a query sees.
enum class FlopConvention { kFull, kCausal };
double megatron_flops_per_token(const MegatronJob& job, FlopConvention convention);

// "llama2-7b" …: the models of the calibration's rows.
struct NamedModel {
  std::string_view name;
  MegatronModel model;
};
std::span<const NamedModel> megatron_models();
const MegatronModel* find_megatron_model(std::string_view name);  // null: none

// The job of a row of megatron_readme or megatron_ci. bad_input: a cell that is missing.
Result<MegatronJob> job_of(const CalibrationRow& row);

}  // namespace nb
