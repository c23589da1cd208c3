#include "model/ops/rotary.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

kernels::RotaryShape shape_of(const Tensor& x, const RotaryTables& tables,
                              const Positions& positions, std::string_view label) {
  const std::int64_t head_dim = tables.head_dim(), rows = x.shape().leading();
  const std::int64_t time = positions.each.empty() ? positions.time : rows;
  NB_CHECK(x.shape().last() % head_dim == 0 && time > 0 && rows % time == 0,
           "[rotary] {}: x {}, sequences of {}, heads of {}", label, x.shape().text(), time,
           head_dim);
  NB_CHECK(!positions.each.empty() || time <= tables.cos.shape()[0],
           "[rotary] {}: {} positions, the tables hold {}", label, time, tables.cos.shape()[0]);
  NB_CHECK(positions.each.empty() || std::ssize(positions.each) == rows,
           "[rotary] {}: x {}, {} positions", label, x.shape().text(), positions.each.size());
  return {.time = time,
          .heads = x.shape().last() / head_dim,
          .head_dim = head_dim,
          .layout = tables.layout};
}

OpDesc describe(OpKind kind, const Tensor& x, const kernels::RotaryShape& shape,
                std::string_view label) {
  return {.kind = kind,
          .label = label,
          .batch = x.shape().leading() / shape.time,
          .time = shape.time,
          .heads = shape.heads,
          .head_dim = shape.head_dim,
          .inputs = {&x}};
}

Tensor rotary_backward(const Tensor& dy, const kernels::RotaryShape& shape,
                       const RotaryTables& tables, std::string_view label, SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  OpDesc desc = describe(OpKind::kRotaryBackward, dy, shape, label);
  desc.output = &dx;
  host::run_backward(
      dy.device(), desc, std::move(saved),
      host::Rotary{dy.values(), tables.cos.values(), tables.sin.values(), dx.values(), shape});
  return dx;
}

}  // namespace

RotaryTables rotary_tables(Device& device, std::int64_t positions, std::int64_t head_dim,
                           const RotaryOptions& options) {
  NB_CHECK(positions > 0 && head_dim > 0 && head_dim % 2 == 0, "[rotary] {} positions, heads of {}",
           positions, head_dim);
  NB_CHECK(options.base > 0, "[rotary] base {} is not positive", options.base);
  const DType storage = device.numerics().storage;
  const Shape shape = {positions, head_dim / 2};
  RotaryTables tables{device.allocate(shape, storage, "rotary.cos"),
                      device.allocate(shape, storage, "rotary.sin"), options.layout};
  device.run({.kind = OpKind::kCast,
              .label = "rotary.tables",
              .count = 2 * shape.count(),
              .dtype = DType::kFp32,
              .to_dtype = storage,
              .output = &tables.cos},
             [&] {
               kernels::rotary_tables(positions, head_dim, storage, tables.cos.matrix(),
                                      tables.sin.matrix(), options.base);
               if (options.layout != RotaryLayout::kHalves) return;
               for (float& sin : tables.sin.host()) sin = -sin;
             });
  return tables;
}

Tensor rotary(const Tensor& x, const RotaryTables& tables, const Positions& positions,
              std::string_view label) {
  const kernels::RotaryShape shape = shape_of(x, tables, positions, label);
  NB_CHECK(positions.each.empty() || !Tape::is_open(),
           "[rotary] {}: no gradient of rows with positions of their own", label);
  Tensor y = result(x.device(), x.shape(), label);
  forward(describe(OpKind::kRotary, x, shape, label), y,
          host::Rotary{x.values(),
                       tables.cos.values(),
                       tables.sin.values(),
                       y.values(),
                       shape,
                       {positions.each.begin(), positions.each.end()}},
          {&x}, [&] {
            return [shape, &tables, label = std::string(label)](const Tensor& dy,
                                                                SavedBlocks saved) {
              return Tape::Gradients{rotary_backward(dy, shape, tables, label, std::move(saved))};
            };
          });
  return y;
}

}  // namespace nb::ops
