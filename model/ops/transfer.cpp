#include "model/ops/transfer.hpp"

#include "harness/base/check.hpp"
#include "harness/base/parallel.hpp"
#include "model/kernels/elementwise.hpp"
#include "model/tensor/dtype.hpp"

namespace nb::ops {

Tensor upload_ids(Device& device, std::int64_t count, std::int64_t id_bytes,
                  std::string_view label) {
  const auto word = static_cast<std::int64_t>(storage_bytes(DType::kFp32));
  NB_CHECK(id_bytes % word == 0, "[upload_ids] ids of {} bytes", id_bytes);
  Tensor ids = device.allocate({count, id_bytes / word}, DType::kFp32, label);
  device.run({.kind = OpKind::kHostToDevice, .label = label, .count = ids.count(), .output = &ids},
             [] {});
  return ids;
}

Tensor upload_numbers(Device& device, std::int64_t count, std::string_view label) {
  return upload_ids(device, count, static_cast<std::int64_t>(storage_bytes(DType::kFp32)), label);
}

void upload(Device& device, std::span<const float> values, Tensor& tensor, std::string_view label) {
  NB_CHECK(!device.executes() || std::ssize(values) == tensor.count(),
           "[upload] {}: {} values for {}", label, values.size(), tensor.shape().text());
  device.run({.kind = OpKind::kHostToDevice,
              .label = label,
              .count = tensor.count(),
              .dtype = tensor.dtype(),
              .output = &tensor},
             [&] { kernels::cast(values, tensor.host(), tensor.dtype()); });
}

void zero(Device& device, Tensor& tensor, std::string_view label) {
  device.run({.kind = OpKind::kZero,
              .label = label,
              .count = tensor.count(),
              .dtype = tensor.dtype(),
              .output = &tensor},
             [&] { kernels::fill(tensor.host(), 0); });
}

void random_init(Device& device, Tensor& tensor, const std::function<float(std::int64_t)>& draw,
                 std::string_view label) {
  constexpr std::size_t kPiece = 4096;
  device.run({.kind = OpKind::kRandomInit,
              .label = label,
              .count = tensor.count(),
              .dtype = tensor.dtype(),
              .output = &tensor},
             [&] {
               const std::span<float> values = tensor.host();
               parallel_chunks(values.size(), kPiece, [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   values[i] = round_to(tensor.dtype(), draw(static_cast<std::int64_t>(i)));
                 }
               });
             });
}

void read_scalar(Device& device, std::string_view label) {
  device.run({.kind = OpKind::kDeviceToHost, .label = label, .count = 1}, [] {});
}

}  // namespace nb::ops
