// Lowering: an op → the kernels that the software stack would launch, the blocks that it allocates
// beside the caller's tensors, and what it keeps for backward. "eager" lists what PyTorch eager
// launches; "compiled" fuses pointwise chains as torch.compile does. Every OpKind has both (one
// table in lowering.cpp, complete or it does not compile); collectives are one launch whose time
// comes from model/collectives. Pure functions.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/device/numerics.hpp"
#include "model/device/op_desc.hpp"
#include "model/device/profile.hpp"

namespace nb {

enum class KernelUnit : std::uint8_t { kMatrix, kAttention, kVector, kHostLink, kLink };

struct Kernel {
  std::string_view name;  // static text: "mm", "pow", "triton_fused_rms_norm"
  KernelUnit unit = KernelUnit::kVector;
  double flops = 0;
  std::uint64_t read_bytes = 0;
  std::uint64_t write_bytes = 0;
  // Matrix products: batch × (m, n, k), inputs of dtype. 0 elsewhere.
  std::int64_t batch = 0, m = 0, n = 0, k = 0;
  DType dtype = DType::kFp32;
  bool backward = false;          // attention: which efficiency
  std::int64_t burst_bytes = 0;   // that lie together in memory, where it is few; 0: many
  bool is_causal_square = false;  // attention: every query sees the keys up to its own
  // What single measured kernels say of themselves (model/predict); no lowering sets them.
  bool is_unaligned = false;    // vector: rows begin off the boundary of a burst
  double cached_share = 0;      // vector: of what is read, found in the last-level cache
  bool reads_uncached = false;  // vector: reads leave that cache aside, so the result stays in it
  bool is_nz = false;           // matrix: the right operand lies in the matrix unit's own format
};

// Allocated before kernel `first` is launched, freed after kernel `last`; saved: kept for backward
// instead when the op saves for backward.
struct LoweredBlock {
  std::string_view name;
  std::uint64_t size_bytes = 0;
  std::size_t first = 0, last = 0;
  bool saved = false;
};

struct Lowering {
  std::vector<Kernel> kernels;
  std::vector<LoweredBlock> blocks;
  std::uint8_t saved_inputs = 0;  // bit i: the stack keeps desc.inputs[i] for backward
  bool saves_output = false;
  bool recomputes_output =
      false;           // nobody keeps the output for backward: its backward op makes it again
  bool waits = false;  // the host waits for the result (device to host)
};

// NB_CHECK fails where a size that the kind needs is missing (≤ 0).
Lowering lower(const OpDesc& desc, const SoftwareProfile& software, const NumericsPolicy& numerics);

}  // namespace nb
