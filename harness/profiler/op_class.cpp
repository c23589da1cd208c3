#include "harness/profiler/op_class.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "harness/base/ascii.hpp"

namespace nb::profiler {
namespace {

// Alternatives between bars, case ignored; ^: where the name begins. Rows in order: the first that
// fits wins. The patterns are those of msprof-analyze's and HTA's tables of kernels and what the
// real profiles of the specification needed besides; sources in README.md.
struct ClassRow {
  OpClass one;
  std::string_view gpu, npu;
};
constexpr std::array kClasses = {
    ClassRow{OpClass::kCommunication, "nccl|rccl", "^hcom|hccl|^allreduce|^allgather|lcal"},
    ClassRow{OpClass::kAttention, "flash|fmha|attention",
             "flashattention|fusedinferattention|pagedattention|increflash|promptflash"},
    // Random numbers: "normal" is no norm.
    ClassRow{OpClass::kElementwise, "distribution_elementwise|philox|normal_kernel",
             "^dsa|dropout"},
    // Before the products: libraries write convolutions as implicit ones.
    ClassRow{OpClass::kConvolution, "fprop|dgrad|wgrad|implicit_gemm|cudnn|convolve|winograd",
             "^conv|^depthwiseconv"},
    ClassRow{OpClass::kMatmul, "gemm|cutlass|cublas|nvjet|cijk_|gemv|splitk", "matmul|gemm"},
    ClassRow{OpClass::kOptimizer, "multi_tensor|adam", "^foreach|^apply|adam|^lpnorm|lamb"},
    ClassRow{OpClass::kEmbedding, "embedding|index|indice|gather|scatter",
             "^gather|embedding|^index|^scatter"},
    ClassRow{
        OpClass::kLayout,
        "copy|transpose|catarray|concat|_cat|permute|memcpy|quantize|_to_float|float_to_|qparam",
        "transdata|transpose|tensormove|^cast|concat|slice|viewcopy|asstrided|^broadcastto|"
        "^split|^pack|^pad|^identity"},
    ClassRow{OpClass::kSoftmaxLoss, "softmax|nll|cross_entropy|crossentropy", "softmax|nll|cross"},
    ClassRow{OpClass::kReduce, "reduce_kernel|reduce_1block|pool", "^reduce|pool|^argmax|^cumsum"},
    ClassRow{OpClass::kNorm,
             "layer_norm|layernorm|rms_norm|rmsnorm|batch_norm|bn_fw|bn_bw|"
             "group_norm|norm_",
             "norm"},
    ClassRow{OpClass::kElementwise, "elementwise|fill|fused_dropout|where|triton_poi", ""},
};

bool fits(std::string_view text, std::string_view patterns) {
  while (!patterns.empty()) {
    const std::size_t bar = std::min(patterns.find('|'), patterns.size());
    std::string_view one = patterns.substr(0, bar);
    patterns.remove_prefix(std::min(bar + 1, patterns.size()));
    if (one.starts_with('^') ? text.starts_with(one.substr(1)) : text.find(one) != text.npos)
      return true;
  }
  return false;
}

bool is_vector_core(std::string_view core) {
  return core.empty() || core == "AI_VECTOR_CORE" || core == "MIX_AIV" || core == "AIV" ||
         core == "AI_CORE";
}

}  // namespace

std::string_view name(OpClass one) {
  constexpr std::array<std::string_view, kOpClasses> kNames = {
      "matmul", "attention", "convolution", "norm",   "softmax/loss",  "embedding",   "elementwise",
      "reduce", "optimizer", "layout",      "AI CPU", "communication", "memory copy", "other"};
  return kNames[static_cast<std::size_t>(one)];
}

std::string_view type_in_name(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  while (true) {
    const std::size_t under = name.rfind('_');
    if (under == name.npos || under + 1 == name.size()) break;
    const std::string_view last = name.substr(under + 1);
    if (std::ranges::all_of(last, is_digit)) {
      name = name.substr(0, under);
      continue;
    }
    name = last;
    break;
  }
  // "Conv2D1": a count behind the type. "V2", "V3" belong to it.
  std::size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  if (end > 1 && end < name.size() && name[end - 1] != 'V') name = name.substr(0, end);
  return name;
}

OpClass class_of_gpu_kernel(std::string_view name) {
  std::string text = lowered(name);
  // A library whose name is no product of matrices.
  for (std::size_t at = 0; (at = text.find("fbgemm", at)) != text.npos;) text.erase(at, 6);
  for (const ClassRow& row : kClasses)
    if (fits(text, row.gpu)) return row.one;
  return OpClass::kOther;
}

OpClass class_of_npu_kernel(std::string_view name, std::string_view type, std::string_view core) {
  if (core == "HCCL" || core == "COMMUNICATION") return OpClass::kCommunication;
  const std::string full = lowered(name);
  if (full.starts_with("hcom")) return OpClass::kCommunication;
  if (core == "AI_CPU") return OpClass::kAiCpu;
  const bool has_type = !type.empty() && type != "N/A" && type != "0";
  const std::string text = lowered(has_type ? type : type_in_name(name));
  for (const ClassRow& row : kClasses)
    if (fits(text, row.npu)) return row.one;
  // Kernels that people write themselves (Triton) have their own name as type.
  if (core.starts_with("MEMCPY")) return OpClass::kMemoryCopy;
  return is_vector_core(core) ? OpClass::kElementwise : OpClass::kOther;
}

OpClass class_of_own_kernel(std::string_view op, std::string_view kernel, bool is_communication) {
  if (is_communication) return OpClass::kCommunication;
  const std::string text = lowered(std::string(op) + " " + std::string(kernel));
  constexpr std::array kOwn = {
      ClassRow{OpClass::kMemoryCopy, "to_device|to_host|transfer|memcpy", ""},
      ClassRow{OpClass::kAttention, "attention|sdpa|flash", ""},
      ClassRow{OpClass::kOptimizer, "adamw|muon|clip|optimizer|foreach", ""},
      ClassRow{OpClass::kEmbedding, "embedding|gather", ""},
      ClassRow{OpClass::kSoftmaxLoss, "cross_entropy|softmax|loss|head|objective", ""},
  };
  if (text.find(" mm") != text.npos || text.find("matmul") != text.npos ||
      text.find("gemm") != text.npos)
    return OpClass::kMatmul;
  for (const ClassRow& row : kOwn)
    if (fits(text, row.gpu)) return row.one;
  if (text.find("norm") != text.npos) return OpClass::kNorm;
  if (text.find("copy") != text.npos || text.find("transpose") != text.npos ||
      text.find("cat") != text.npos)
    return OpClass::kLayout;
  return OpClass::kElementwise;
}

}  // namespace nb::profiler
