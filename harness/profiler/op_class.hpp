// What a kernel does, by its name or type: one table for GPUs and NPUs (op_class.cpp). Pure.
#pragma once

#include <cstdint>
#include <string_view>

namespace nb::profiler {

enum class OpClass : std::uint8_t {
  kMatmul,
  kAttention,
  kConvolution,
  kNorm,
  kSoftmaxLoss,
  kEmbedding,
  kElementwise,
  kReduce,
  kOptimizer,
  kLayout,
  kAiCpu,
  kCommunication,
  kMemoryCopy,
  kOther,
};
inline constexpr std::size_t kOpClasses = 14;
std::string_view name(OpClass one);  // "matmul", "softmax/loss": keys of JSON

// Of a kernel of a GPU, by its name.
OpClass class_of_gpu_kernel(std::string_view name);
// Of a kernel of an NPU. type: "MatMulV2", empty where the profile has none (level 0): then the
// name tells, whose last part is the type ("aclnnMm_MatMulCommon_MatMulV2"). core: "AI_CORE",
// "AI_VECTOR_CORE", "AI_CPU", "HCCL", …; empty: not known.
OpClass class_of_npu_kernel(std::string_view name, std::string_view type, std::string_view core);
// Of a kernel of our own simulated devices, by its op (op_desc.hpp) and the lowering's name.
OpClass class_of_own_kernel(std::string_view op, std::string_view kernel, bool is_communication);

// "trans_TransData_0" → "TransData", "Conv2D1" → "Conv2D".
std::string_view type_in_name(std::string_view name);

}  // namespace nb::profiler
