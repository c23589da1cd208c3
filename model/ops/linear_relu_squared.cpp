#include "model/ops/linear_relu_squared.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/ops/linear.hpp"
#include "model/ops/saved.hpp"
#include "model/ops/weight.hpp"

namespace nb::ops {
namespace {

OpDesc describe(OpKind kind, const Tensor& x, const Tensor& y, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .rows = x.shape().leading(),
          .cols = x.shape().last(),
          .inputs = {&x},
          .output = &y};
}

}  // namespace

WideAndActivated linear_relu_squared(Device& device, const Tensor& x, const Tensor& w,
                                     std::string_view linear_label, std::string_view label,
                                     SavedBlocks* linear_saved, SavedBlocks* saved) {
  const DType storage = device.numerics().storage;
  WideAndActivated result;
  result.wide = linear(device, x, w, linear_label, linear_saved, Arithmetic::kLater);
  result.h = device.allocate(result.wide.shape(), storage, label);
  OpDesc desc = describe(OpKind::kReluSquared, result.wide, result.h, label);
  desc.saves_for_backward = saved != nullptr;
  keep(saved, device.run(desc, [&] {
    const Matrix h = result.h.matrix();
    const Matrix wide = saved != nullptr ? result.wide.matrix() : h;
    multiply_weight_nt(x.matrix(), w, wide, device.numerics().matmul(),
                       [&](const kernels::ProductBlock& block) {
                         kernels::relu_squared_block(wide, h, block, storage);
                       });
  }));
  return result;
}

Tensor linear_relu_squared_backward(Device& device, const Tensor& dy, const Tensor& w,
                                    const Tensor& dh, const Tensor& wide, std::string_view label,
                                    SavedBlocks saved) {
  NB_CHECK(dh.shape() == wide.shape(), "[relu_squared_backward] {}: dh {}, wide {}", label,
           dh.shape().text(), wide.shape().text());
  const DType storage = device.numerics().storage;
  Tensor dx = device.allocate(dh.shape(), storage, label);
  const OpDesc desc = describe(OpKind::kReluSquaredBackward, dh, dx, label);
  device.run_backward(desc, std::move(saved), [&] {
    const Matrix d = dx.matrix();
    const ConstMatrix x = wide.matrix();
    multiply_weight_nn(dy.matrix(), w, d, device.numerics().matmul(),
                       [&](const kernels::ProductBlock& block) {
                         kernels::relu_squared_backward_block(d, x, d, block, storage);
                       });
  });
  return dx;
}

}  // namespace nb::ops
