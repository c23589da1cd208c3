// Which bits a kernel produces: plain values that model/device/numerics fills from a profile.
//
// Matrix product, element by element, one chain of fp32 fused multiply-adds from +0 (design: "Same
// bits"):
//   inputs bf16: both operands rounded to nearest even, then magnitudes below 2^-56 become zero of
//   the same
//     sign; k runs 1, 0, 3, 2, 5, 4, …; odd K is padded with a zero pair member that is part of the
//     chain.
//   inputs fp32, tf32, hf32, fp16: operands rounded to the format; k ascends; no floor.
//   Then +0 is added, the sum is rounded to `output`, and with accumulate it is added to C in fp32.
#pragma once

#include "model/tensor/dtype.hpp"

namespace nb {

enum class Accumulation {
  kChain,    // one chain over all of K
  kBlock16,  // a chain from +0 for each 16 values of k; the chains are added in order
  kSplitK,  // K in split_k parts of ceil(K / split_k) rounded up to a multiple of 16; a chain each,
            // added in order
  kHostBlas,  // cpu_ref only: OpenBLAS fp32 (inputs must be kFp32); the order is the library's,
              // bits differ between hosts
};

struct MatmulPolicy {
  DType inputs = DType::kBf16;
  Accumulation accumulation = Accumulation::kChain;
  int split_k = 1;
  DType output = DType::kBf16;
  bool fp16_saturates = false;  // output fp16: overflow → ±65504, NaN → 0 (910A, 310P)

  bool operator==(const MatmulPolicy&) const = default;
};

// Whether operands may come as bf16 (tensor/view.hpp): they are numbers of the input format then.
inline bool takes_bf16(const MatmulPolicy& policy) { return policy.inputs == DType::kBf16; }

// The reciprocal square root of a norm.
enum class Rsqrt {
  kPrecise,      // 1 / sqrt(x), each rounded to nearest
  kApproximate,  // that with 14 significant bits, nearest even (vector_functions: numerics.hpp)
};

struct PointwisePolicy {
  DType storage = DType::kBf16;
  // true: every pointwise kernel of the eager lowering rounds its result to storage; false: fp32
  // inside the fused chain, rounded once at its end. Each kernel's header says what that means for
  // it.
  bool eager = true;
  bool fp16_saturates = false;
  Rsqrt rsqrt = Rsqrt::kPrecise;

  bool operator==(const PointwisePolicy&) const = default;
};

}  // namespace nb
