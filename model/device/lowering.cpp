#include "model/device/lowering.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "harness/base/check.hpp"
#include "model/device/lowering_rows.hpp"

namespace nb {
namespace {

using Size = std::int64_t OpDesc::*;
constexpr Size kRowsCols[] = {&OpDesc::rows, &OpDesc::cols};
constexpr Size kRowsColsVocab[] = {&OpDesc::rows, &OpDesc::cols, &OpDesc::vocab};
constexpr Size kRowsColsInner[] = {&OpDesc::rows, &OpDesc::cols, &OpDesc::inner};
constexpr Size kRowsColsCount[] = {&OpDesc::rows, &OpDesc::cols, &OpDesc::count};
constexpr Size kRowsColsTime[] = {&OpDesc::rows, &OpDesc::cols, &OpDesc::time};
constexpr Size kRowsHeads[] = {&OpDesc::rows, &OpDesc::heads, &OpDesc::head_dim};
constexpr Size kHeads[] = {&OpDesc::batch, &OpDesc::time, &OpDesc::heads, &OpDesc::head_dim};
constexpr Size kAttention[] = {&OpDesc::batch, &OpDesc::time, &OpDesc::heads, &OpDesc::kv_heads,
                               &OpDesc::head_dim};
constexpr Size kCache[] = {&OpDesc::batch, &OpDesc::time, &OpDesc::kv_heads, &OpDesc::head_dim};
constexpr Size kRowsVocab[] = {&OpDesc::rows, &OpDesc::vocab};
constexpr Size kRowsAlone[] = {&OpDesc::rows};
constexpr Size kRowsCount[] = {&OpDesc::rows, &OpDesc::count};
constexpr Size kCount[] = {&OpDesc::count, &OpDesc::tensors};

struct Row {
  OpKind kind;
  std::span<const Size> needs;  // sizes that the kind cannot do without
  void (*eager)(LoweringBuilder&);
  void (*compiled)(LoweringBuilder&);
};

constexpr Row kRows[] = {
    {OpKind::kEmbedding, kRowsColsVocab, lower_embedding, lower_embedding},
    {OpKind::kEmbeddingBackward, kRowsColsVocab, lower_embedding_backward,
     lower_embedding_backward},
    {OpKind::kRmsNorm, kRowsCols, eager::rms_norm, compiled::rms_norm},
    {OpKind::kRmsNormBackward, kRowsCols, eager::rms_norm_backward, compiled::rms_norm_backward},
    {OpKind::kLinear, kRowsColsInner, lower_linear, lower_linear},
    {OpKind::kLinearBackwardInput, kRowsColsInner, lower_linear_backward_input,
     lower_linear_backward_input},
    {OpKind::kLinearBackwardWeight, kRowsColsInner, lower_linear_backward_weight,
     lower_linear_backward_weight},
    {OpKind::kRotary, kHeads, eager::rotary, compiled::rotary},
    {OpKind::kRotaryBackward, kHeads, eager::rotary_backward, compiled::rotary_backward},
    {OpKind::kAttention, kAttention, eager::attention, lower_fused_attention},
    {OpKind::kAttentionBackward, kAttention, eager::attention_backward,
     lower_fused_attention_backward},
    {OpKind::kReluSquared, kRowsCols, eager::relu_squared, compiled::relu_squared},
    {OpKind::kReluSquaredBackward, kRowsCols, eager::relu_squared_backward,
     compiled::relu_squared_backward},
    {OpKind::kSilu, kRowsCols, lower_silu, lower_silu},
    {OpKind::kSiluBackward, kRowsCols, lower_silu_backward, lower_silu_backward},
    {OpKind::kGelu, kRowsCols, lower_gelu, lower_gelu},
    {OpKind::kGeluBackward, kRowsCols, lower_gelu_backward, lower_gelu_backward},
    {OpKind::kSigmoid, kRowsCols, lower_sigmoid, lower_sigmoid},
    {OpKind::kSigmoidBackward, kRowsCols, lower_sigmoid_backward, lower_sigmoid_backward},
    {OpKind::kMultiply, kRowsCols, lower_multiply, lower_multiply},
    {OpKind::kMultiplyBackward, kRowsCols, lower_multiply, lower_multiply},
    {OpKind::kScale, kRowsCols, lower_scale, lower_scale},
    {OpKind::kScaleBackwardInput, kRowsCols, lower_scale, lower_scale},
    {OpKind::kScaleBackwardFactor, kRowsColsCount, lower_scale_backward_factor,
     lower_scale_backward_factor},
    {OpKind::kApplyGain, kRowsCols, lower_apply_gain, lower_apply_gain},
    {OpKind::kApplyGainBackwardInput, kRowsCols, lower_apply_gain, lower_apply_gain},
    {OpKind::kApplyGainBackwardGain, kRowsCols, lower_apply_gain_backward_gain,
     lower_apply_gain_backward_gain},
    {OpKind::kAddBias, kRowsCols, lower_add_bias, lower_add_bias},
    {OpKind::kAddBiasBackward, kRowsCols, lower_add_bias_backward, lower_add_bias_backward},
    {OpKind::kLayerNorm, kRowsCols, lower_layer_norm, lower_layer_norm},
    {OpKind::kLayerNormBackwardInput, kRowsCols, lower_layer_norm_backward_input,
     lower_layer_norm_backward_input},
    {OpKind::kLayerNormBackwardWeights, kRowsCols, lower_layer_norm_backward_weights,
     lower_layer_norm_backward_weights},
    {OpKind::kGateHeads, kRowsHeads, lower_gate_heads, lower_gate_heads},
    {OpKind::kGateHeadsBackwardInput, kRowsHeads, lower_gate_heads, lower_gate_heads},
    {OpKind::kGateHeadsBackwardGate, kRowsHeads, lower_gate_heads_backward_gate,
     lower_gate_heads_backward_gate},
    {OpKind::kFirstColumns, kRowsColsInner, lower_first_columns, lower_first_columns},
    {OpKind::kFirstColumnsBackward, kRowsColsInner, lower_first_columns_backward,
     lower_first_columns_backward},
    {OpKind::kPreviousRows, kRowsColsTime, lower_previous_rows, lower_previous_rows},
    {OpKind::kPreviousRowsBackward, kRowsColsTime, lower_previous_rows, lower_previous_rows},
    {OpKind::kDropout, kRowsCols, lower_dropout, lower_dropout},
    {OpKind::kDropoutBackward, kRowsCols, lower_dropout_backward, lower_dropout_backward},
    {OpKind::kAdd, kRowsCols, eager::add, compiled::add},
    {OpKind::kAddBackward, kRowsCols, eager::add, compiled::add},
    {OpKind::kSoftcapCrossEntropy, kRowsVocab, eager::cross_entropy, compiled::cross_entropy},
    {OpKind::kSoftcapCrossEntropyBackward, kRowsVocab, eager::cross_entropy_backward,
     compiled::cross_entropy_backward},
    {OpKind::kWeightedSum, kRowsAlone, lower_weighted_sum, lower_weighted_sum},
    {OpKind::kWeightedSumBackward, kRowsAlone, lower_weighted_sum_backward,
     lower_weighted_sum_backward},
    {OpKind::kPolicyLoss, kRowsAlone, lower_policy_loss, lower_policy_loss},
    {OpKind::kPolicyLossBackward, kRowsAlone, lower_policy_loss_backward,
     lower_policy_loss_backward},
    {OpKind::kPreferenceLoss, kRowsCount, lower_preference_loss, lower_preference_loss},
    {OpKind::kPreferenceLossBackward, kRowsCount, lower_preference_loss_backward,
     lower_preference_loss_backward},
    {OpKind::kLogits, kRowsVocab, eager::softcap, compiled::softcap},
    {OpKind::kLogProbabilities, kRowsVocab, eager::log_probabilities, compiled::log_probabilities},
    {OpKind::kSample, kRowsVocab, lower_sample, lower_sample},
    {OpKind::kKvCacheAppend, kCache, lower_kv_cache_append, lower_kv_cache_append},
    {OpKind::kGradNorm, kCount, lower_grad_norm, lower_grad_norm},
    {OpKind::kGradScale, kCount, lower_grad_scale, lower_grad_scale},
    {OpKind::kAdamW, kCount, eager::adamw, lower_fused_adamw},
    {OpKind::kMuonMomentum, kRowsCols, eager::muon_momentum, compiled::muon_momentum},
    {OpKind::kNewtonSchulz, kRowsCols, eager::newton_schulz, compiled::newton_schulz},
    {OpKind::kMuonUpdate, kRowsCols, lower_muon_update, lower_muon_update},
    {OpKind::kZero, kCount, lower_zero, lower_zero},
    {OpKind::kCast, kCount, lower_cast, lower_cast},
    {OpKind::kRandomInit, kCount, lower_random_init, lower_random_init},
    {OpKind::kHostToDevice, kCount, lower_host_to_device, lower_host_to_device},
    {OpKind::kDeviceToHost, kCount, lower_device_to_host, lower_device_to_host},
    {OpKind::kAllReduce, kCount, lower_collective, lower_collective},
    {OpKind::kReduceScatter, kCount, lower_collective, lower_collective},
    {OpKind::kAllGather, kCount, lower_collective, lower_collective},
    {OpKind::kBroadcast, kCount, lower_collective, lower_collective},
    {OpKind::kAllToAll, kCount, lower_collective, lower_collective},
    {OpKind::kSendReceive, kCount, lower_collective, lower_collective},
    {OpKind::kBarrier, {}, lower_collective, lower_collective},
};

constexpr OpKind kKinds[] = {
#define NB_OP_KIND(enumerator, name, operands, meaning) OpKind::enumerator,
    NB_OP_KINDS(NB_OP_KIND)
#undef NB_OP_KIND
};
static_assert(std::ranges::equal(kRows, kKinds, {}, &Row::kind),
              "a row for every kind, in the order of op_desc.hpp");

}  // namespace

Lowering lower(const OpDesc& desc, const SoftwareProfile& software,
               const NumericsPolicy& numerics) {
  const auto index = static_cast<std::size_t>(desc.kind);
  NB_CHECK(index < std::size(kRows), "[lowering] kind {} is not in the table", index);
  const Row& row = kRows[index];
  for (const Size size : row.needs)
    NB_CHECK(desc.*size > 0, "[{}] {}: a size is missing; the table in op_desc.hpp says: {}",
             name(desc.kind), desc.label, op_kinds()[index].meaning);
  LoweringBuilder builder(desc, software, numerics);
  const bool is_compiled = software.mode.value == SoftwareMode::kCompiled;
  (is_compiled ? row.compiled : row.eager)(builder);
  return builder.finish();
}

LoweringBuilder::LoweringBuilder(const OpDesc& desc, const SoftwareProfile& software,
                                 const NumericsPolicy& numerics)
    : desc_(desc), software_(software), numerics_(numerics) {
  constexpr std::size_t kUsual = 8;
  lowering_.kernels.reserve(kUsual);
  lowering_.blocks.reserve(kUsual);
}

std::uint64_t LoweringBuilder::bytes(std::int64_t count, DType dtype) const {
  return static_cast<std::uint64_t>(count) * storage_bytes(dtype);
}

void LoweringBuilder::vector(std::string_view name, std::int64_t count, double flops_each,
                             std::uint64_t read, std::uint64_t write) {
  Kernel kernel;
  kernel.name = name;
  kernel.flops = static_cast<double>(count) * flops_each;
  kernel.read_bytes = read;
  kernel.write_bytes = write;
  lowering_.kernels.push_back(kernel);
}

void LoweringBuilder::product(std::string_view name, std::int64_t batch, std::int64_t m,
                              std::int64_t n, std::int64_t k, DType dtype) {
  Kernel kernel;
  kernel.name = name;
  kernel.unit = KernelUnit::kMatrix;
  kernel.flops = 2.0 * static_cast<double>(batch) * static_cast<double>(m) *
                 static_cast<double>(n) * static_cast<double>(k);
  kernel.read_bytes = bytes(batch * (m * k + k * n), dtype);
  kernel.write_bytes = bytes(batch * m * n, dtype);
  kernel.batch = batch;
  kernel.m = m;
  kernel.n = n;
  kernel.k = k;
  kernel.dtype = dtype;
  lowering_.kernels.push_back(kernel);
}

void LoweringBuilder::attention(std::string_view name, double flops, std::uint64_t read,
                                std::uint64_t write, bool backward) {
  Kernel kernel;
  kernel.name = name;
  kernel.unit = KernelUnit::kAttention;
  kernel.flops = flops;
  kernel.read_bytes = read;
  kernel.write_bytes = write;
  kernel.batch = desc_.batch * desc_.heads;
  kernel.m = desc_.time;
  kernel.n = desc_.head_dim;
  kernel.k = desc_.key_time > 0 ? desc_.key_time : desc_.time;
  kernel.dtype = numerics_.matmul_inputs;
  kernel.backward = backward;
  const bool sees_all = desc_.window == 0 || desc_.window + 1 >= kernel.k;
  kernel.is_causal_square = kernel.m == kernel.k && sees_all && desc_.pairs == 0;
  lowering_.kernels.push_back(kernel);
}

void LoweringBuilder::copy_strided(std::string_view name, std::int64_t count,
                                   std::int64_t together) {
  vector(name, count, 0, act(count), act(count));
  lowering_.kernels.back().burst_bytes = static_cast<std::int64_t>(act(together));
}

void LoweringBuilder::copy_over_host_link(std::string_view name, std::uint64_t size_bytes) {
  Kernel kernel;
  kernel.name = name;
  kernel.unit = KernelUnit::kHostLink;
  kernel.read_bytes = size_bytes;
  kernel.write_bytes = size_bytes;
  lowering_.kernels.push_back(kernel);
}

void LoweringBuilder::collective(std::string_view name, std::uint64_t size_bytes) {
  Kernel kernel;
  kernel.name = name;
  kernel.unit = KernelUnit::kLink;
  kernel.read_bytes = size_bytes;
  lowering_.kernels.push_back(kernel);
}

LoweringBuilder::Handle LoweringBuilder::open(std::string_view name, std::uint64_t size_bytes) {
  lowering_.blocks.push_back({name, size_bytes, lowering_.kernels.size(), kOpenEnd, false});
  return lowering_.blocks.size() - 1;
}

void LoweringBuilder::close(Handle block) {
  NB_CHECK(block < lowering_.blocks.size() && !lowering_.kernels.empty(),
           "[lowering] close before any kernel");
  lowering_.blocks[block].last = lowering_.kernels.size() - 1;
}

void LoweringBuilder::save(std::string_view name, std::uint64_t size_bytes) {
  lowering_.blocks[open(name, size_bytes)].saved = true;
}

void LoweringBuilder::save_input(std::size_t index) {
  lowering_.saved_inputs = static_cast<std::uint8_t>(lowering_.saved_inputs | (1u << index));
}

Lowering LoweringBuilder::finish() {
  NB_CHECK(!lowering_.kernels.empty(), "[lowering] {} has no kernel: nothing is free",
           name(desc_.kind));
  const std::size_t last = lowering_.kernels.size() - 1;
  for (LoweredBlock& block : lowering_.blocks) {
    NB_CHECK(block.first <= last, "[lowering] {}: block {} is opened after the last kernel",
             name(desc_.kind), block.name);
    if (block.last == kOpenEnd) block.last = last;
  }
  return std::move(lowering_);
}

}  // namespace nb
