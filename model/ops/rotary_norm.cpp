#include "model/ops/rotary_norm.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/rotary_norm.hpp"
#include "model/ops/activation_buffer.hpp"
#include "model/ops/saved.hpp"

namespace nb::ops {
namespace {

std::int64_t head_dim_of(const RotaryTables& tables) { return 2 * tables.cos.shape().last(); }

// One sequence on the device where positions are given one by one.
std::int64_t time_of(const Tensor& x, const Positions& positions) {
  return positions.each.empty() ? positions.time : x.shape().leading();
}

void check_shapes(const Tensor& x, const RotaryTables& tables, const Positions& positions,
                  std::string_view label) {
  const std::int64_t head_dim = head_dim_of(tables), time = time_of(x, positions);
  NB_CHECK(x.shape().last() % head_dim == 0 && time > 0 && x.shape().leading() % time == 0,
           "[rotary] {}: x {}, sequences of {}, heads of {}", label, x.shape().text(), time,
           head_dim);
  NB_CHECK(!positions.each.empty() || time <= tables.cos.shape()[0],
           "[rotary] {}: {} positions, the tables hold {}", label, time, tables.cos.shape()[0]);
}

OpDesc rotary_desc(OpKind kind, const Tensor& x, const RotaryTables& tables, std::int64_t time,
                   std::string_view label) {
  return {.kind = kind,
          .label = label,
          .batch = x.shape().leading() / time,
          .time = time,
          .heads = x.shape().last() / head_dim_of(tables),
          .head_dim = head_dim_of(tables),
          .inputs = {&x}};
}

OpDesc norm_desc(OpKind kind, const Tensor& x, const RotaryTables& tables, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .rows = x.count() / head_dim_of(tables),
          .cols = head_dim_of(tables)};
}

kernels::RotaryShape kernel_shape(const Tensor& x, const RotaryTables& tables, std::int64_t time) {
  return {.time = time,
          .heads = x.shape().last() / head_dim_of(tables),
          .head_dim = head_dim_of(tables)};
}

}  // namespace

Tensor rotary_before_norm(Device& device, const Tensor& x, const RotaryTables& tables,
                          const Positions& positions, std::string_view label, SavedBlocks* saved) {
  check_shapes(x, tables, positions, label);
  Tensor y = device.allocate(x.shape(), device.numerics().storage, label,
                             saved != nullptr ? form_of(x) : HostBuffer::kNone);
  OpDesc desc = rotary_desc(OpKind::kRotary, x, tables, time_of(x, positions), label);
  desc.output = &y;
  desc.saves_for_backward = saved != nullptr;
  keep(saved, device.run(desc, [] {}));
  return y;
}

Tensor rms_norm_after_rotary(Device& device, const Tensor& x, Tensor& turned,
                             const RotaryTables& tables, const Positions& positions,
                             std::string_view label, std::vector<float>* rstd, SavedBlocks* saved) {
  check_shapes(x, tables, positions, label);
  NB_CHECK(turned.shape() == x.shape(), "[rms_norm] {}: x {}, turned {}", label, x.shape().text(),
           turned.shape().text());
  Tensor y = device.allocate(x.shape(), device.numerics().storage, label, form_of(x));
  OpDesc desc = norm_desc(OpKind::kRmsNorm, x, tables, label);
  desc.saves_for_backward = saved != nullptr;
  desc.inputs = {&turned};
  desc.output = &y;
  keep(saved, device.run(desc, [&] {
    std::span<float> kept;
    if (rstd != nullptr) {
      rstd->resize(static_cast<std::size_t>(x.count() / head_dim_of(tables)));
      kept = *rstd;
    }
    const bool keeps = saved != nullptr && turned.count() > 0;
    const Numbers kept_turned = keeps ? turned.numbers_to_write() : Numbers();
    const PointwisePolicy policy = device.numerics().pointwise_policy();
    if (positions.each.empty()) {
      kernels::rotary_norm(x.numbers(), kept_turned, y.numbers_to_write(), kept,
                           tables.cos.matrix(), tables.sin.matrix(),
                           kernel_shape(x, tables, positions.time), policy);
    } else {
      kernels::rotary_norm(x.numbers(), positions.each, kept_turned, y.numbers_to_write(), kept,
                           tables.cos.matrix(), tables.sin.matrix(), head_dim_of(tables), policy);
    }
  }));
  return y;
}

Tensor rms_norm_backward_before_rotary(Device& device, const Tensor& dy, const Tensor& turned,
                                       const RotaryTables& tables, std::string_view label,
                                       SavedBlocks saved) {
  NB_CHECK(dy.shape() == turned.shape() && dy.shape().last() % head_dim_of(tables) == 0,
           "[rms_norm_backward] {}: dy {}, x {}, rows of {}", label, dy.shape().text(),
           turned.shape().text(), head_dim_of(tables));
  Tensor dx = device.allocate(dy.shape(), device.numerics().storage, label, HostBuffer::kNone);
  OpDesc desc = norm_desc(OpKind::kRmsNormBackward, dy, tables, label);
  desc.inputs = {&dy, &turned};
  desc.output = &dx;
  device.run_backward(desc, std::move(saved), [] {});
  return dx;
}

Tensor rotary_backward_after_norm(Device& device, const Tensor& between, const Tensor& dy,
                                  const Tensor& turned, const std::vector<float>& rstd,
                                  const RotaryTables& tables, std::int64_t time,
                                  std::string_view label, SavedBlocks saved) {
  check_shapes(between, tables, {.time = time}, label);
  NB_CHECK(dy.shape() == between.shape() && turned.shape() == between.shape(),
           "[rotary_backward] {}: dy {}, turned {}, between {}", label, dy.shape().text(),
           turned.shape().text(), between.shape().text());
  Tensor dx = device.allocate(between.shape(), device.numerics().storage, label, form_of(dy));
  OpDesc desc = rotary_desc(OpKind::kRotaryBackward, between, tables, time, label);
  desc.output = &dx;
  device.run_backward(desc, std::move(saved), [&] {
    kernels::rotary_norm_backward(
        dy.numbers(), turned.numbers(), rstd, dx.numbers_to_write(), tables.cos.matrix(),
        tables.sin.matrix(), kernel_shape(dy, tables, time), device.numerics().pointwise_policy());
  });
  return dx;
}

}  // namespace nb::ops
