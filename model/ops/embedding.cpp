#include "model/ops/embedding.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

using Ids = std::shared_ptr<const std::vector<int>>;

void embedding_backward(const Tensor& dy, Parameter& table, const Ids& ids, SavedBlocks saved) {
  const auto [dtable, accumulate] = gradient_slot(table);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kEmbeddingBackward,
                      .label = table.name,
                      .rows = dy.shape().leading(),
                      .cols = dtable.shape().last(),
                      .vocab = dtable.shape()[0],
                      .dtype = dtable.dtype(),
                      .accumulate = accumulate,
                      .inputs = {&dy},
                      .output = &dtable},
                     std::move(saved), {.in = {dy.values()}, .out = {dtable.values()}, .ids = ids});
}

}  // namespace

Tensor embedding(Parameter& table, std::span<const int> ids, std::int64_t rows) {
  const Shape& shape = table.value.shape();
  Device& device = table.value.device();
  NB_CHECK(shape.rank() == 2, "[embedding] table {}", shape.text());
  NB_CHECK(!device.executes() || std::ssize(ids) == rows, "[embedding] {} ids for {} rows",
           ids.size(), rows);
  Tensor y = result(device, {rows, shape[1]}, table.name);
  const Ids kept = std::make_shared<std::vector<int>>(ids.begin(), ids.end());
  forward(
      {.kind = OpKind::kEmbedding,
       .label = table.name,
       .rows = rows,
       .cols = shape[1],
       .vocab = shape[0],
       .dtype = table.value.dtype()},
      y, {.in = {table.value.values()}, .out = {y.values()}, .ids = kept}, {},
      [&] {
        return [&table, kept](const Tensor& dy, SavedBlocks saved) {
          embedding_backward(dy, table, kept, std::move(saved));
          return Tape::Gradients{};
        };
      },
      table.is_trained);
  return y;
}

}  // namespace nb::ops
