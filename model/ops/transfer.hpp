// Host to device: what a training step copies in, and contents that are set rather than computed.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "model/device/device.hpp"

namespace nb::ops {

// Simulated copy of `count` ids of `id_bytes` each (nanochat: int32 inputs, int64 targets). The
// block has no host values: ops take ids from the caller.
Tensor upload_ids(Device& device, std::int64_t count, std::int64_t id_bytes,
                  std::string_view label);
// The same of `count` fp32 numbers that ops take from the caller.
Tensor upload_numbers(Device& device, std::int64_t count, std::string_view label);
// values → tensor, rounded to its dtype.
void upload(Device& device, std::span<const float> values, Tensor& tensor, std::string_view label);
void zero(Device& device, Tensor& tensor, std::string_view label);
// draw(i): value of element i before rounding; a pure function, called from many threads.
void random_init(Device& device, Tensor& tensor, const std::function<float(std::int64_t)>& draw,
                 std::string_view label);
// The host reads a scalar and waits for it.
void read_scalar(Device& device, std::string_view label);

}  // namespace nb::ops
