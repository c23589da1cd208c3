#include "model/ops/gather.hpp"

#include <algorithm>

#include "harness/base/check.hpp"

namespace nb::ops {

Tensor gather_rows(Device& device, const Tensor& x, std::span<const std::int64_t> rows,
                   std::string_view label) {
  const auto count = static_cast<std::int64_t>(rows.size());
  const std::int64_t total = x.shape().leading(), width = x.shape().last();
  for (const std::int64_t row : rows) {
    NB_CHECK(row >= 0 && row < total, "[gather_rows] {}: row {} of {}", label, row, total);
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
                               [&] {
                                 const ConstMatrix from = x.matrix();
                                 const Matrix to = y.matrix();
                                 for (std::int64_t i = 0; i < count; ++i) {
                                   std::copy_n(from.row(rows[static_cast<std::size_t>(i)]), width,
                                               to.row(i));
                                 }
                               }));
  return y;
}

}  // namespace nb::ops
