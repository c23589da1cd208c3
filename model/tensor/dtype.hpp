// Number formats of the emulated devices. Host values are fp32 arrays that hold values of the
// format (a bf16 tensor is a float array whose values are bf16-representable); only the simulated
// memory counts the device's bytes. Rounding is to nearest even with gradual underflow; a NaN comes
// out as 7fc00000. Thread-safe: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "harness/base/result.hpp"

namespace nb {

// explicit mantissa bits: fp32 23, bf16 7, fp16 10 (5 exponent bits), tf32 10, hf32 11 (both with 8
// exponent bits; hf32: Ascend 910B, asc-devkit HF32.md, mode NEAREST_EVEN)
enum class DType { kFp32, kBf16, kFp16, kTf32, kHf32 };

std::size_t storage_bytes(
    DType dtype);  // of one element on the device; tf32 and hf32 are stored as fp32: 4
std::string_view name(DType dtype);  // "fp32", "bf16", "fp16", "tf32", "hf32"
Result<DType> parse_dtype(std::string_view text);

// Nearest representable value; fp16 and bf16 overflow to infinity, fp16 denormals are kept.
float round_to(DType dtype, float value);
void round_to(DType dtype,
              std::span<float> values);  // one thread; large arrays: kernels/elementwise.hpp
// fp16 in the saturation mode of Ascend 910A and 310P: overflow and infinity become ±65504, NaN
// becomes +0.
float round_to_fp16_saturating(float value);

// The format's bits (bf16, fp16: low 16) of a value that is representable in it.
std::uint16_t bf16_bits(float value);
std::uint16_t fp16_bits(float value);
float from_bf16_bits(std::uint16_t bits);
float from_fp16_bits(std::uint16_t bits);

// x, or the canonical NaN 7fc00000: for every place where bits leave (checkpoint, hash, trace).
float canonical(float value);

}  // namespace nb
