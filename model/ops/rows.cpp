#include "model/ops/rows.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/embedding.hpp"
#include "model/kernels/slices.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

void embedding_backward(const Tensor& dy, Parameter& table, const host::Ids& ids,
                        SavedBlocks saved) {
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
                     std::move(saved), host::EmbeddingBackward{dy.values(), dtable.values(), ids});
}

}  // namespace

Tensor embedding(Parameter& table, std::span<const int> ids, std::int64_t rows) {
  const Shape& shape = table.value.shape();
  Device& device = table.value.device();
  NB_CHECK(shape.rank() == 2, "[embedding] table {}", shape.text());
  NB_CHECK(!device.executes() || std::ssize(ids) == rows, "[embedding] {} ids for {} rows",
           ids.size(), rows);
  Tensor y = result(device, {rows, shape[1]}, table.name);
  const host::Ids kept = std::make_shared<std::vector<int>>(ids.begin(), ids.end());
  forward(
      {.kind = OpKind::kEmbedding,
       .label = table.name,
       .rows = rows,
       .cols = shape[1],
       .vocab = shape[0],
       .dtype = table.value.dtype()},
      y, host::Embedding{table.value.values(), y.values(), kept}, {},
      [&] {
        return [&table, kept](const Tensor& dy, SavedBlocks saved) {
          embedding_backward(dy, table, kept, std::move(saved));
          return Tape::Gradients{};
        };
      },
      table.is_trained);
  return y;
}

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

namespace {

// A kernel that copies has nothing to round.
template <void (*kKernel)(ConstMatrix, Matrix)>
void without_rounding(ConstMatrix x, Matrix y, DType) {
  kKernel(x, y);
}

Tensor first_columns_backward(const Tensor& dy, std::int64_t width, std::string_view label) {
  const std::int64_t rows = dy.shape().leading();
  Tensor dx = result(dy.device(), {rows, width}, label);
  host::run_backward(
      dy.device(),
      {.kind = OpKind::kFirstColumnsBackward,
       .label = label,
       .rows = rows,
       .cols = dy.shape().last(),
       .inner = width,
       .inputs = {&dy},
       .output = &dx},
      {}, host::Unary{dy.values(), dx.values(), without_rounding<kernels::first_columns_backward>});
  return dx;
}

}  // namespace

Tensor first_columns(const Tensor& x, std::int64_t count, std::string_view label) {
  const std::int64_t rows = x.shape().leading(), width = x.shape().last();
  NB_CHECK(count > 0 && count <= width && x.shape().rank() == 2, "[first_columns] {}: {} of x {}",
           label, count, x.shape().text());
  Tensor y = result(x.device(), {rows, count}, label);
  forward({.kind = OpKind::kFirstColumns,
           .label = label,
           .rows = rows,
           .cols = count,
           .inner = width,
           .inputs = {&x}},
          y, host::Unary{x.values(), y.values(), without_rounding<kernels::first_columns>}, {&x},
          [&] {
            return [width, label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
              return Tape::Gradients{first_columns_backward(dy, width, label)};
            };
          });
  return y;
}

namespace {

OpDesc describe_previous(OpKind kind, const Tensor& x, std::int64_t time, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .time = time,
          .rows = x.shape().leading(),
          .cols = x.shape().last(),
          .inputs = {&x}};
}

Tensor previous_rows_backward(const Tensor& dy, std::int64_t time, std::string_view label) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  OpDesc desc = describe_previous(OpKind::kPreviousRowsBackward, dy, time, label);
  desc.output = &dx;
  host::run_backward(dy.device(), desc, {}, host::PreviousRows{dy.values(), dx.values(), time});
  return dx;
}

}  // namespace

Tensor previous_rows(const Tensor& x, std::int64_t time, std::string_view label) {
  NB_CHECK(time > 0 && x.shape().leading() % time == 0, "[previous_rows] {}: x {}, sequences of {}",
           label, x.shape().text(), time);
  Tensor y = result(x.device(), x.shape(), label);
  forward(describe_previous(OpKind::kPreviousRows, x, time, label), y,
          host::PreviousRows{x.values(), y.values(), time}, {&x}, [&] {
            return [time, label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
              return Tape::Gradients{previous_rows_backward(dy, time, label)};
            };
          });
  return y;
}

}  // namespace nb::ops
