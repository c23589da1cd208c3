#include "model/ops/pointwise.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/residual.hpp"
#include "model/ops/saved.hpp"

namespace nb::ops {
namespace {

OpDesc describe(OpKind kind, const Tensor& a, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .rows = a.shape().leading(),
          .cols = a.shape().last(),
          .inputs = {&a}};
}

}  // namespace

Tensor add(Device& device, const Tensor& a, const Tensor& b, std::string_view label,
           SavedBlocks* saved) {
  NB_CHECK(a.shape() == b.shape(), "[add] {}: {} + {}", label, a.shape().text(), b.shape().text());
  const DType storage = device.numerics().storage;
  Tensor y = device.allocate(a.shape(), storage, label);
  OpDesc desc = describe(OpKind::kAdd, a, label);
  desc.inputs = {&a, &b};
  desc.output = &y;
  desc.saves_for_backward = saved != nullptr;
  keep(saved, device.run(desc, [&] { kernels::add(a.matrix(), b.matrix(), y.matrix(), storage); }));
  return y;
}

}  // namespace nb::ops
