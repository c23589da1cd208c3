#include "model/ops/embedding.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/elementwise.hpp"
#include "model/kernels/embedding.hpp"
#include "model/ops/saved.hpp"

namespace nb::ops {

Tensor embedding(Device& device, const Tensor& table, std::span<const int> ids, std::int64_t rows,
                 std::string_view label, SavedBlocks* saved) {
  NB_CHECK(table.shape().rank() == 2, "[embedding] table {}", table.shape().text());
  NB_CHECK(!device.executes() || std::ssize(ids) == rows, "[embedding] {} ids for {} rows",
           ids.size(), rows);
  const std::int64_t vocab = table.shape()[0];
  const std::int64_t width = table.shape()[1];
  const DType storage = device.numerics().storage;
  Tensor y = device.allocate({rows, width}, storage, label);
  keep(saved, device.run({.kind = OpKind::kEmbedding,
                          .label = label,
                          .rows = rows,
                          .cols = width,
                          .vocab = vocab,
                          .dtype = table.dtype(),
                          .saves_for_backward = saved != nullptr,
                          .output = &y},
                         [&] { kernels::embedding(table.matrix(), ids, y.matrix(), storage); }));
  return y;
}

void embedding_backward(Device& device, const Tensor& dy, std::span<const int> ids, Tensor& dtable,
                        bool accumulate, std::string_view label, SavedBlocks saved) {
  const std::int64_t rows = dy.shape().leading();
  NB_CHECK(dtable.shape().last() == dy.shape().last(), "[embedding_backward] dy {}, dtable {}",
           dy.shape().text(), dtable.shape().text());
  NB_CHECK(!device.executes() || std::ssize(ids) == rows, "[embedding_backward] {} ids for {} rows",
           ids.size(), rows);
  device.run_backward({.kind = OpKind::kEmbeddingBackward,
                       .label = label,
                       .rows = rows,
                       .cols = dtable.shape().last(),
                       .vocab = dtable.shape()[0],
                       .dtype = dtable.dtype(),
                       .accumulate = accumulate,
                       .inputs = {&dy},
                       .output = &dtable},
                      std::move(saved), [&] {
                        if (!accumulate) kernels::fill(dtable.host(), 0);
                        kernels::embedding_backward(dy.matrix(), ids, dtable.matrix(),
                                                    dtable.dtype());
                      });
}

}  // namespace nb::ops
