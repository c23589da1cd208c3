#include "model/ops/linear.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/residual.hpp"
#include "model/ops/saved.hpp"
#include "model/ops/weight.hpp"

namespace nb::ops {

namespace {

void product(const Device& device, kernels::PackFor use, ConstNumbers x, const Tensor& w,
             Tensor& y) {
  const MatmulPolicy policy = device.numerics().matmul();
  const bool is_nt = use == kernels::PackFor::kNt;
  const Halves halves = y.half_matrix();
  if (halves.data == nullptr) {
    return (is_nt ? multiply_weight_nt : multiply_weight_nn)(x, w, y.matrix(), policy, {});
  }
  (is_nt ? kernels::matmul_nt_blocks : kernels::matmul_nn_blocks)(
      x, *packed_weight(w, policy, use), policy,
      [&](const kernels::ProductBlock& block) { kernels::keep_block(block, halves); });
}

// All that wait; one by one where they differ in shape, or some are added and some are not.
void weight_products(const Device& device, const WeightGradients& all, const Tensor& x) {
  const MatmulPolicy policy = device.numerics().weight_gradient_matmul();
  std::array<kernels::TurnedProduct, WeightGradients::kMost> products;
  bool is_alike = true;
  for (std::size_t i = 0; i < all.count; ++i) {
    products[i] = {all.each[i].dy->numbers(), all.each[i].dw->matrix()};
    is_alike = is_alike && products[i].c.rows == products[0].c.rows &&
               all.each[i].accumulate == all.each[0].accumulate;
  }
  if (is_alike) {
    return kernels::matmul_tn({products.data(), all.count}, x.numbers(), policy,
                              all.each[0].accumulate);
  }
  for (std::size_t i = 0; i < all.count; ++i) {
    kernels::matmul_tn(products[i].a, x.numbers(), products[i].c, policy, all.each[i].accumulate);
  }
}

}  // namespace

Tensor linear(Device& device, const Tensor& x, const Tensor& w, std::string_view label,
              SavedBlocks* saved, Arithmetic arithmetic, HostBuffer host) {
  NB_CHECK(w.shape().rank() == 2 && x.shape().last() == w.shape()[1],
           "[linear] {}: x {}, w (out, in) {}", label, x.shape().text(), w.shape().text());
  const std::int64_t rows = x.shape().leading();
  const std::int64_t out = w.shape()[0];
  Tensor y = device.allocate({rows, out}, device.numerics().storage, label, host);
  keep(saved, device.run({.kind = OpKind::kLinear,
                          .label = label,
                          .rows = rows,
                          .cols = out,
                          .inner = w.shape()[1],
                          .dtype = w.dtype(),
                          .saves_for_backward = saved != nullptr,
                          .inputs = {&x, &w},
                          .output = &y},
                         [&] {
                           if (arithmetic == Arithmetic::kLater) return;
                           product(device, kernels::PackFor::kNt, x.numbers(), w, y);
                         }));
  return y;
}

Tensor linear_backward_input(Device& device, const Tensor& dy, const Tensor& w,
                             std::string_view label, Arithmetic arithmetic, HostBuffer host) {
  NB_CHECK(w.shape().rank() == 2 && dy.shape().last() == w.shape()[0],
           "[linear_backward_input] {}: dy {}, w (out, in) {}", label, dy.shape().text(),
           w.shape().text());
  const std::int64_t rows = dy.shape().leading();
  const std::int64_t inner = w.shape()[1];
  const bool is_later = arithmetic == Arithmetic::kLater;
  Tensor dx = device.allocate({rows, inner}, device.numerics().storage, label,
                              is_later ? HostBuffer::kNone : host);
  device.run_backward({.kind = OpKind::kLinearBackwardInput,
                       .label = label,
                       .rows = rows,
                       .cols = w.shape()[0],
                       .inner = inner,
                       .dtype = w.dtype(),
                       .inputs = {&dy, &w},
                       .output = &dx},
                      {}, [&] {
                        if (is_later) return;
                        product(device, kernels::PackFor::kNn, dy.numbers(), w, dx);
                      });
  return dx;
}

void linear_backward_weight(Device& device, const Tensor& dy, const Tensor& x, Tensor& dw,
                            bool accumulate, std::string_view label, SavedBlocks saved) {
  WeightGradients alone;
  linear_backward_weight(device, {&dy, &dw, accumulate}, x, label, std::move(saved), alone,
                         Arithmetic::kNow);
}

void linear_backward_weight(Device& device, const WeightGradient& gradient, const Tensor& x,
                            std::string_view label, SavedBlocks saved, WeightGradients& together,
                            Arithmetic arithmetic) {
  const Tensor& dy = *gradient.dy;
  Tensor& dw = *gradient.dw;
  NB_CHECK(dw.shape().rank() == 2 && dy.shape().last() == dw.shape()[0] &&
               x.shape().last() == dw.shape()[1] && dy.shape().leading() == x.shape().leading(),
           "[linear_backward_weight] {}: dy {}, x {}, dw {}", label, dy.shape().text(),
           x.shape().text(), dw.shape().text());
  NB_CHECK(together.count < WeightGradients::kMost, "[linear_backward_weight] {}: {} are waiting",
           label, together.count);
  together.each[together.count++] = gradient;
  device.run_backward({.kind = OpKind::kLinearBackwardWeight,
                       .label = label,
                       .rows = dy.shape().leading(),
                       .cols = dw.shape()[0],
                       .inner = dw.shape()[1],
                       .dtype = dw.dtype(),
                       .accumulate = gradient.accumulate,
                       .inputs = {&dy, &x},
                       .output = &dw},
                      std::move(saved), [&] {
                        if (arithmetic == Arithmetic::kNow) weight_products(device, together, x);
                      });
  if (arithmetic == Arithmetic::kNow) together.count = 0;
}

}  // namespace nb::ops
