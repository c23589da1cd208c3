#include "model/train/port_defects.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/check.hpp"
#include "harness/base/fields.hpp"

namespace nb {
namespace {

using namespace defect_scope;

constexpr const char* kFork = "the NPU fork nano-chat-NPU @ 7cc0419";

std::vector<PortDefectInfo> make_table() {
  return {
      {PortDefect::kAdamWBetas, "adamw_betas",
       "AdamW with betas (0.9, 0.999) and eps 1e-8, torch's defaults, for embeddings and head in "
       "place of (0.8, 0.95) and 1e-10",
       kFork, kBase | kMid | kSft | kDpo | kRl},
      {PortDefect::kNoLrScale, "no_lr_scale", "AdamW's rates are not scaled by (n_embd / 768)^-0.5",
       kFork, kBase | kMid | kSft | kDpo | kRl},
      {PortDefect::kMuonAsAdamW, "muon_as_adamw",
       "AdamW, at the rate of lm_head, trains the matrices in place of Muon",
       "ports whose framework has no Muon", kBase | kMid | kSft | kDpo | kRl},
      {PortDefect::kHalfSteps, "half_steps", "half of the steps, the schedule with them",
       "the same fork: 325 of 651 SFT steps, 233 of 467 RL steps", kBase | kSft | kDpo | kRl,
       "MID is one pass over its conversations; half_batch changes its steps"},
      {PortDefect::kHalfBatch, "half_batch",
       "half of the batch at the same number of steps; in MID, one pass as before, with twice the "
       "steps",
       "the same fork: 262,144 of 524,288 tokens in MID", kBase | kMid | kSft | kDpo | kRl},
      {PortDefect::kLossMaskIgnored, "loss_mask_ignored",
       "SFT trains on all tokens of a conversation, RL on those of prompt and tool as well",
       "chat templates rendered without their mask", kSft | kRl,
       "DPO's pairs share their prompt, which falls out of their difference; BASE and MID train on "
       "every token as they are"},
      {PortDefect::kTargetsOffByOne, "targets_off_by_one",
       "training batches have the token after the next as target; the validation is right",
       "labels shifted by the loader and again by the model (transformers shifts inside)",
       kBase | kMid | kSft | kDpo | kRl},
      {PortDefect::kLowPrecisionGradients, "low_precision_gradients",
       "the sum of the gradients over micro-batches is kept in bf16",
       "mixed-precision engines whose accumulation type follows the model's",
       kBase | kMid | kSft | kDpo | kRl},
      {PortDefect::kUnsyncedEmbeddingGradients, "unsynced_embedding_gradients",
       "two replicas share the batch and do not average the gradients of wte and lm_head; the "
       "first "
       "one's weights are kept",
       "the same fork: eight different copies", kBase, "only BASE trains replicas here"},
      {PortDefect::kFp16WithoutScaling,
       "fp16_without_scaling",
       "activations, products and weight gradients in fp16 without loss scaling, weights in fp32",
       "parts without bf16 (Ascend 910A, 310P)",
       kAll,
       "",
       {{"storage", "fp16"},
        {"matmul_inputs", "fp16"},
        {"matmul_output", "fp16"},
        {"weight_gradient", "fp16"},
        {"embedding_weight", "fp32"}}},
      {PortDefect::kNoAutocast,
       "no_autocast",
       "products take the fp32 weights as they are, and weight gradients stay fp32; activations "
       "are bf16 as before",
       "autocast that is registered for another device type and does nothing",
       kAll,
       "",
       {{"matmul_inputs", "fp32"}, {"weight_gradient", "fp32"}}},
      {PortDefect::kRopePositions, "rope_positions",
       "with a key-value cache, positions behind the prompt are one too low: of generated tokens, "
       "and of the scored ones behind a cached prefix; whole passes are right",
       "position ids taken from the cache's length before it grew", kEvaluation},
      {PortDefect::kStaleKvCache, "stale_kv_cache",
       "in generation, the place of each new token in a sample's key-value cache keeps the token "
       "before it",
       "caches that are written from a buffer which the step has not filled yet", kGenerate},
      {PortDefect::kTokenizerMismatch, "tokenizer_mismatch",
       "the evaluation has a tokenizer of the same size whose last merges are in another order",
       "a tokenizer that was trained anew beside the checkpoint", kEvaluation},
      {PortDefect::kEvaluatorFallback, "evaluator_fallback",
       "the first half of a task's items is asked twice; the record names all of them",
       "the same fork: an offline quiz where the data were not found", kEvaluation},
      {PortDefect::kScoreCompiled,
       "score_compiled",
       "scores come from the compiled model, which rounds once a fused chain",
       "evaluation scripts that compile the model on one of the devices",
       kScore,
       "",
       {},
       {{"score", "compiled"}}},
      {PortDefect::kApproximateRsqrt,
       "approximate_rsqrt",
       "the norms take the vector unit's reciprocal square root, 14 significant bits, in place of "
       "a "
       "division and a square root",
       "kernels that ignore the advice of asc-devkit, Rsqrt (errors up to 1e-4 in fp32)",
       kAll,
       "",
       {{"vector_functions", "approximate_rsqrt"}}},
      {PortDefect::kSpNormNotReduced, "sp_norm_not_reduced",
       "of tensor parallel ranks that share rows of tokens (mesh/sequence_parallel) each trains "
       "its "
       "own norms, lambdas and biases behind a sum: their gradients are not added",
       "frameworks that leave this all-reduce to the training script (Megatron-LM's "
       "allreduce_layernorm_grads)",
       kBase, "only BASE is sequence parallel here"},
  };
}

const std::vector<PortDefectInfo>& table() {
  static const std::vector<PortDefectInfo> kTable = make_table();
  return kTable;
}

}  // namespace

DefectScope scope_of(TrainingStage stage) {
  switch (stage) {
    case TrainingStage::kBase:
      return kBase;
    case TrainingStage::kMid:
      return kMid;
    case TrainingStage::kSft:
      return kSft;
    case TrainingStage::kDpo:
      return kDpo;
    case TrainingStage::kRl:
      break;
  }
  return kRl;
}

std::string scope_text(DefectScope scope) {
  const std::pair<DefectScope, const char*> names[] = {
      {kBase, "base"}, {kMid, "mid"},     {kSft, "sft"},           {kDpo, "dpo"},
      {kRl, "rl"},     {kScore, "score"}, {kGenerate, "generate"}, {kDevice, "device"}};
  std::vector<std::string> words;
  for (const auto& [bit, name] : names)
    if ((scope & bit) != 0) words.emplace_back(name);
  return fmt::format("{}", fmt::join(words, ", "));
}

std::span<const PortDefectInfo> all_port_defects() { return table(); }

const PortDefectInfo& info(PortDefect defect) {
  const PortDefectInfo& row = table()[static_cast<std::size_t>(defect)];
  NB_CHECK(row.defect == defect, "[port_defects] the table is not in the order of its enumerators");
  return row;
}

PortDefects::PortDefects(std::vector<PortDefect> defects) : defects_(std::move(defects)) {
  std::ranges::sort(defects_);
  defects_.erase(std::unique(defects_.begin(), defects_.end()), defects_.end());
}

bool PortDefects::has(PortDefect defect) const {
  return std::ranges::find(defects_, defect) != defects_.end();
}

PortDefects PortDefects::in(DefectScope scope) const {
  std::vector<PortDefect> some;
  for (const PortDefect defect : defects_)
    if ((info(defect).scope & scope) != 0) some.push_back(defect);
  return PortDefects(std::move(some));
}

std::vector<std::string> PortDefects::names() const {
  std::vector<std::string> names;
  for (const PortDefect defect : defects_) names.emplace_back(info(defect).name);
  return names;
}

Result<PortDefects> parse_port_defects(std::span<const std::string> names,
                                       const std::string& where) {
  std::vector<PortDefect> defects;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto row = std::ranges::find(table(), names[i], &PortDefectInfo::name);
    if (row == table().end()) {
      std::vector<std::string> known;
      for (const PortDefectInfo& one : table()) known.emplace_back(one.name);
      return bad_input(fmt::format("{}/{}: no defect \"{}\"{} (npubench list defects)", where, i,
                                   names[i], did_you_mean(names[i], known)));
    }
    if (std::ranges::find(defects, row->defect) != defects.end())
      return bad_input(fmt::format("{}/{}: \"{}\" stands there twice", where, i, names[i]));
    defects.push_back(row->defect);
  }
  return PortDefects(std::move(defects));
}

}  // namespace nb
