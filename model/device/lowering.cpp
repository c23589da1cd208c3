#include "model/device/lowering.hpp"

#include <initializer_list>
#include <utility>

#include "harness/base/check.hpp"
#include "model/device/lowering_builder.hpp"

namespace nb {
namespace {

using Size = std::int64_t OpDesc::*;

// Sizes that a kind cannot do without.
std::initializer_list<Size> needed_sizes(OpKind kind) {
  static constexpr auto rows_cols = {&OpDesc::rows, &OpDesc::cols};
  static constexpr auto rows_cols_vocab = {&OpDesc::rows, &OpDesc::cols, &OpDesc::vocab};
  static constexpr auto rows_cols_inner = {&OpDesc::rows, &OpDesc::cols, &OpDesc::inner};
  static constexpr auto heads = {&OpDesc::batch, &OpDesc::time, &OpDesc::heads, &OpDesc::head_dim};
  static constexpr auto attention = {&OpDesc::batch, &OpDesc::time, &OpDesc::heads,
                                     &OpDesc::kv_heads, &OpDesc::head_dim};
  static constexpr auto cache = {&OpDesc::batch, &OpDesc::time, &OpDesc::kv_heads,
                                 &OpDesc::head_dim};
  static constexpr auto rows_vocab = {&OpDesc::rows, &OpDesc::vocab};
  static constexpr auto count = {&OpDesc::count, &OpDesc::tensors};
  switch (kind) {
    case OpKind::kEmbedding:
    case OpKind::kEmbeddingBackward:
      return rows_cols_vocab;
    case OpKind::kRmsNorm:
    case OpKind::kRmsNormBackward:
    case OpKind::kReluSquared:
    case OpKind::kReluSquaredBackward:
    case OpKind::kSilu:
    case OpKind::kAdd:
    case OpKind::kAddBackward:
    case OpKind::kMuonMomentum:
    case OpKind::kNewtonSchulz:
    case OpKind::kMuonUpdate:
      return rows_cols;
    case OpKind::kMultiply:
    case OpKind::kLinear:
    case OpKind::kLinearBackwardInput:
    case OpKind::kLinearBackwardWeight:
      return rows_cols_inner;
    case OpKind::kRotary:
    case OpKind::kRotaryBackward:
      return heads;
    case OpKind::kAttention:
    case OpKind::kAttentionBackward:
      return attention;
    case OpKind::kKvCacheAppend:
      return cache;
    case OpKind::kSoftcapCrossEntropy:
    case OpKind::kSoftcapCrossEntropyBackward:
    case OpKind::kLogits:
    case OpKind::kLogProbabilities:
    case OpKind::kSample:
      return rows_vocab;
    case OpKind::kGradNorm:
    case OpKind::kGradScale:
    case OpKind::kAdamW:
    case OpKind::kZero:
    case OpKind::kCast:
    case OpKind::kRandomInit:
    case OpKind::kHostToDevice:
    case OpKind::kDeviceToHost:
    case OpKind::kAllReduce:
    case OpKind::kReduceScatter:
    case OpKind::kAllGather:
    case OpKind::kBroadcast:
      return count;
    case OpKind::kBarrier:
      return {};
  }
  NB_CHECK(false, "[lowering] kind {} is not in the table", static_cast<int>(kind));
}

}  // namespace

Lowering lower(const OpDesc& desc, const SoftwareProfile& software,
               const NumericsPolicy& numerics) {
  for (const Size size : needed_sizes(desc.kind)) {
    NB_CHECK(desc.*size > 0, "[{}] {}: a size is missing; the table in op_desc.hpp says: {}",
             name(desc.kind), desc.label, op_kinds()[static_cast<std::size_t>(desc.kind)].meaning);
  }
  LoweringBuilder builder(desc, software, numerics);
  if (software.mode.value == SoftwareMode::kCompiled) {
    lower_compiled(builder);
  } else {
    lower_eager(builder);
  }
  return builder.finish();
}

LoweringBuilder::LoweringBuilder(const OpDesc& desc, const SoftwareProfile& software,
                                 const NumericsPolicy& numerics)
    : desc_(desc), software_(software), numerics_(numerics) {}

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
  lowering_.kernels.push_back(kernel);
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
