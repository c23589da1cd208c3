#include "model/ops/rotary.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/rotary.hpp"
#include "model/ops/saved.hpp"

namespace nb::ops {
namespace {

kernels::RotaryShape shape_of(const Tensor& x, const RotaryTables& tables, std::int64_t time,
                              std::string_view label) {
  const std::int64_t head_dim = 2 * tables.cos.shape().last();
  NB_CHECK(x.shape().last() % head_dim == 0 && x.shape().leading() % time == 0,
           "[rotary] {}: x {}, sequences of {}, heads of {}", label, x.shape().text(), time,
           head_dim);
  NB_CHECK(time <= tables.cos.shape()[0], "[rotary] {}: {} positions, the tables hold {}", label,
           time, tables.cos.shape()[0]);
  return {.time = time, .heads = x.shape().last() / head_dim, .head_dim = head_dim};
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

}  // namespace

RotaryTables rotary_tables(Device& device, std::int64_t positions, std::int64_t head_dim) {
  NB_CHECK(positions > 0 && head_dim > 0 && head_dim % 2 == 0, "[rotary] {} positions, heads of {}",
           positions, head_dim);
  const DType storage = device.numerics().storage;
  const Shape shape = {positions, head_dim / 2};
  RotaryTables tables{device.allocate(shape, storage, "rotary.cos"),
                      device.allocate(shape, storage, "rotary.sin")};
  device.run({.kind = OpKind::kCast,
              .label = "rotary.tables",
              .count = 2 * shape.count(),
              .dtype = DType::kFp32,
              .to_dtype = storage,
              .output = &tables.cos},
             [&] {
               kernels::rotary_tables(positions, head_dim, storage, tables.cos.matrix(),
                                      tables.sin.matrix());
             });
  return tables;
}

Tensor rotary(Device& device, const Tensor& x, const RotaryTables& tables, std::int64_t time,
              std::string_view label, SavedBlocks* saved) {
  const kernels::RotaryShape shape = shape_of(x, tables, time, label);
  Tensor y = device.allocate(x.shape(), device.numerics().storage, label);
  OpDesc desc = describe(OpKind::kRotary, x, shape, label);
  desc.output = &y;
  desc.saves_for_backward = saved != nullptr;
  keep(saved, device.run(desc, [&] {
    kernels::rotary(x.matrix(), y.matrix(), tables.cos.matrix(), tables.sin.matrix(), shape,
                    device.numerics().pointwise_policy());
  }));
  return y;
}

Tensor rotary(Device& device, const Tensor& x, const RotaryTables& tables,
              std::span<const std::int64_t> positions, std::string_view label) {
  const std::int64_t head_dim = 2 * tables.cos.shape().last();
  NB_CHECK(x.shape().last() % head_dim == 0 &&
               static_cast<std::int64_t>(positions.size()) == x.shape().leading(),
           "[rotary] {}: x {}, {} positions, heads of {}", label, x.shape().text(),
           positions.size(), head_dim);
  Tensor y = device.allocate(x.shape(), device.numerics().storage, label);
  if (positions.empty()) return y;
  OpDesc desc = describe(
      OpKind::kRotary, x,
      {.time = x.shape().leading(), .heads = x.shape().last() / head_dim, .head_dim = head_dim},
      label);
  desc.output = &y;
  static_cast<void>(device.run(desc, [&] {
    kernels::rotary(x.matrix(), positions, y.matrix(), tables.cos.matrix(), tables.sin.matrix(),
                    head_dim, device.numerics().pointwise_policy());
  }));
  return y;
}

Tensor rotary_backward(Device& device, const Tensor& dy, const RotaryTables& tables,
                       std::int64_t time, std::string_view label, SavedBlocks saved) {
  const kernels::RotaryShape shape = shape_of(dy, tables, time, label);
  Tensor dx = device.allocate(dy.shape(), device.numerics().storage, label);
  OpDesc desc = describe(OpKind::kRotaryBackward, dy, shape, label);
  desc.output = &dx;
  device.run_backward(desc, std::move(saved), [&] {
    kernels::rotary_backward(dy.matrix(), dx.matrix(), tables.cos.matrix(), tables.sin.matrix(),
                             shape, device.numerics().pointwise_policy());
  });
  return dx;
}

}  // namespace nb::ops
