#include "model/ops/linear_relu_squared.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/ops/activation_buffer.hpp"
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
  const HostBuffer host = activation_buffer(device);
  result.wide = linear(device, x, w, linear_label, linear_saved, Arithmetic::kLater, host);
  result.h = device.allocate(result.wide.shape(), storage, label, host);
  OpDesc desc = describe(OpKind::kReluSquared, result.wide, result.h, label);
  desc.saves_for_backward = saved != nullptr;
  keep(saved, device.run(desc, [&] {
    const MatmulPolicy policy = device.numerics().matmul();
    if (host == HostBuffer::kHalves) {
      const Halves h = result.h.half_matrix();
      const Halves wide = saved != nullptr ? result.wide.half_matrix() : Halves();
      kernels::matmul_nt_blocks(
          x.numbers(), *packed_weight(w, policy, kernels::PackFor::kNt), policy,
          [&](const kernels::ProductBlock& block) { kernels::relu_squared_block(block, wide, h); });
      return;
    }
    const Matrix h = result.h.matrix();
    const Matrix wide = saved != nullptr ? result.wide.matrix() : h;
    multiply_weight_nt(x.numbers(), w, wide, policy, [&](const kernels::ProductBlock& block) {
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
  const bool is_half = !wide.halves().empty();
  Tensor dx =
      device.allocate(dh.shape(), storage, label, is_half ? HostBuffer::kHalves : HostBuffer::kYes);
  const OpDesc desc = describe(OpKind::kReluSquaredBackward, dh, dx, label);
  device.run_backward(desc, std::move(saved), [&] {
    const MatmulPolicy policy = device.numerics().matmul();
    if (is_half) {
      const Halves d = dx.half_matrix();
      kernels::matmul_nn_blocks(dy.numbers(), *packed_weight(w, policy, kernels::PackFor::kNn),
                                policy, [&](const kernels::ProductBlock& block) {
                                  kernels::relu_squared_backward_block(block, wide.numbers(), d);
                                });
      return;
    }
    const Matrix d = dx.matrix();
    const ConstMatrix x = wide.matrix();
    multiply_weight_nn(dy.numbers(), w, d, policy, [&](const kernels::ProductBlock& block) {
      kernels::relu_squared_backward_block(d, x, d, block, storage);
    });
  });
  return dx;
}

}  // namespace nb::ops
