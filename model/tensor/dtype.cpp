#include "model/tensor/dtype.hpp"

#include <fmt/core.h>

#include <bit>
#include <cmath>

#include "harness/base/check.hpp"

namespace nb {
namespace {

constexpr std::uint32_t kNanBits = 0x7fc00000u;

// Keeps the upper 32 - drop bits of the fp32 pattern, nearest even. The carry runs into the
// exponent, so overflow becomes infinity by itself; infinities have zeros below and stay.
float drop_bits(float value, int drop) {
  if (std::isnan(value)) return std::bit_cast<float>(kNanBits);
  const auto u = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t odd = (u >> drop) & 1u;
  const std::uint32_t up = u + ((1u << (drop - 1)) - 1u) + odd;
  return std::bit_cast<float>(up & ~((1u << drop) - 1u));
}

float round_fp16(float value) {
  if (std::isnan(value)) return std::bit_cast<float>(kNanBits);
  const float size = std::fabs(value);
  // Below 2^-14 the quantum is 2^-24, the ulp of numbers in [0.5, 1).
  float rounded = size < 0x1p-14f ? (size + 0.5f) - 0.5f : drop_bits(size, 13);
  if (rounded > 65504.0f) rounded = INFINITY;
  return std::copysign(rounded, value);
}

}  // namespace

std::size_t storage_bytes(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
    case DType::kTf32:
    case DType::kHf32:
      return 4;
    case DType::kBf16:
    case DType::kFp16:
      return 2;
  }
  NB_CHECK(false, "[dtype] no such dtype {}", static_cast<int>(dtype));
}

std::string_view name(DType dtype) {
  switch (dtype) {
    case DType::kFp32:
      return "fp32";
    case DType::kBf16:
      return "bf16";
    case DType::kFp16:
      return "fp16";
    case DType::kTf32:
      return "tf32";
    case DType::kHf32:
      return "hf32";
  }
  NB_CHECK(false, "[dtype] no such dtype {}", static_cast<int>(dtype));
}

Result<DType> parse_dtype(std::string_view text) {
  for (const DType dtype : {DType::kFp32, DType::kBf16, DType::kFp16, DType::kTf32, DType::kHf32}) {
    if (name(dtype) == text) return dtype;
  }
  return bad_input(
      fmt::format("no number format \"{}\"; choose from fp32, bf16, fp16, tf32, hf32", text));
}

float round_to(DType dtype, float value) {
  switch (dtype) {
    case DType::kFp32:
      return canonical(value);
    case DType::kBf16:
      return drop_bits(value, 16);
    case DType::kFp16:
      return round_fp16(value);
    case DType::kTf32:
      return drop_bits(value, 13);
    case DType::kHf32:
      return drop_bits(value, 12);
  }
  NB_CHECK(false, "[dtype] no such dtype {}", static_cast<int>(dtype));
}

void round_to(DType dtype, std::span<float> values) {
  for (float& value : values) value = round_to(dtype, value);
}

float round_to_fp16_saturating(float value) {
  if (std::isnan(value)) return 0.0f;
  const float rounded = round_fp16(value);
  return std::isinf(rounded) ? std::copysign(65504.0f, value) : rounded;
}

std::uint16_t bf16_bits(float value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16);
}

float from_bf16_bits(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t fp16_bits(float value) {
  const auto u = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (u >> 16) & 0x8000u;
  const float size = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7e00u);
  if (std::isinf(value)) return static_cast<std::uint16_t>(sign | 0x7c00u);
  if (size < 0x1p-14f) {
    return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(size * 0x1p24f));
  }
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(size) - (112u << 23);
  return static_cast<std::uint16_t>(sign | (magnitude >> 13));
}

float from_fp16_bits(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t magnitude = bits & 0x7fffu;
  float size = 0.0f;
  if (magnitude > 0x7c00u) return std::bit_cast<float>(sign | kNanBits);
  if (magnitude == 0x7c00u) {
    size = INFINITY;
  } else if (magnitude < 0x0400u) {
    size = static_cast<float>(magnitude) * 0x1p-24f;
  } else {
    size = std::bit_cast<float>((magnitude << 13) + (112u << 23));
  }
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(size) | sign);
}

float canonical(float value) { return std::isnan(value) ? std::bit_cast<float>(kNanBits) : value; }

}  // namespace nb
