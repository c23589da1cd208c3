#include "model/ops/gather.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/embedding.hpp"

namespace nb::ops {

Tensor gather_rows(Device& device, const Tensor& x, std::span<const std::int64_t> rows,
                   std::string_view label) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t total = x.shape().leading(), width = x.shape().last();
  for (const std::int64_t row : rows) {
    NB_CHECK(row >= -1 && row < total, "[gather_rows] {}: row {} of {}", label, row, total);
  }
  Tensor y = device.allocate({count, width}, x.dtype(), label);
  // index_select, as an embedding is.
  static_cast<void>(device.run({.kind = OpKind::kEmbedding,
                                .label = label,
                                .rows = count,
                                .cols = width,
                                .vocab = total,
                                .dtype = x.dtype(),
                                .inputs = {&x},
                                .output = &y},
                               [&] { kernels::gather_rows(x.matrix(), rows, y.matrix()); }));
  return y;
}

}  // namespace nb::ops
