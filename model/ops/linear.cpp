#include "model/ops/linear.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/broadcast.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {

Tensor linear(const Tensor& x, Parameter& w) {
  const Shape& of_w = w.value.shape();
  NB_CHECK(of_w.rank() == 2 && x.shape().last() == of_w[1], "[linear] {}: x {}, w (out, in) {}",
           w.name, x.shape().text(), of_w.text());
  Device& device = x.device();
  Tensor y = result(device, {x.shape().leading(), of_w[0]}, w.name);
  forward(
      {.kind = OpKind::kLinear,
       .label = w.name,
       .rows = x.shape().leading(),
       .cols = of_w[0],
       .inner = of_w[1],
       .dtype = w.value.dtype(),
       .inputs = {w.is_trained ? &x : nullptr, &w.value}},
      y, host::Product{x.values(), w.value.values(), y.values()}, {&x},
      [&] {
        const bool wants_dx = Tape::wants_gradient(x);
        return [x = w.is_trained ? x.values_only() : Tensor(), &w, wants_dx](const Tensor& dy,
                                                                             SavedBlocks saved) {
          Tensor dx;
          if (wants_dx) dx = linear_backward_input(dy, w.value, w.name);
          if (!x.empty()) linear_backward_weight(dy, x, w, std::move(saved));
          return Tape::Gradients{std::move(dx)};
        };
      },
      w.is_trained);
  return y;
}

Tensor linear_backward_input(const Tensor& dy, const Tensor& w, std::string_view label) {
  NB_CHECK(w.shape().rank() == 2 && dy.shape().last() == w.shape()[0],
           "[linear_backward_input] {}: dy {}, w (out, in) {}", label, dy.shape().text(),
           w.shape().text());
  Device& device = dy.device();
  const std::int64_t rows = dy.shape().leading();
  Tensor dx = result(device, {rows, w.shape()[1]}, label);
  host::run_backward(device,
                     {.kind = OpKind::kLinearBackwardInput,
                      .label = label,
                      .rows = rows,
                      .cols = w.shape()[0],
                      .inner = w.shape()[1],
                      .dtype = w.dtype(),
                      .inputs = {&dy, &w},
                      .output = &dx},
                     {}, host::Product{dy.values(), w.values(), dx.values()});
  return dx;
}

void linear_backward_weight(const Tensor& dy, const Tensor& x, Parameter& w, SavedBlocks saved) {
  linear_backward_weight(dy, x, gradient_slot(w), w.name, std::move(saved));
}

void linear_backward_weight(const Tensor& dy, const Tensor& x, const GradientSlot& dw,
                            std::string_view label, SavedBlocks saved) {
  const Shape& shape = dw.tensor.shape();
  NB_CHECK(shape.rank() == 2 && dy.shape().last() == shape[0] && x.shape().last() == shape[1] &&
               dy.shape().leading() == x.shape().leading(),
           "[linear_backward_weight] {}: dy {}, x {}, dw {}", label, dy.shape().text(),
           x.shape().text(), shape.text());
  host::run_backward(dy.device(),
                     {.kind = OpKind::kLinearBackwardWeight,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = shape[0],
                      .inner = shape[1],
                      .dtype = dw.tensor.dtype(),
                      .accumulate = dw.accumulate,
                      .inputs = {&dy, &x},
                      .output = &dw.tensor},
                     std::move(saved),
                     host::LinearBackwardWeight{dy.values(), x.values(), dw.tensor.values()});
}

namespace {

void backward_bias(const Tensor& dy, Parameter& bias) {
  const auto [dbias, accumulate] = gradient_slot(bias);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kAddBiasBackward,
                      .label = bias.name,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .dtype = dbias.dtype(),
                      .accumulate = accumulate,
                      .inputs = {&dy},
                      .output = &dbias},
                     {}, host::AddBiasBackward{dy.values(), dbias.values()});
}

}  // namespace

Tensor add_bias(const Tensor& x, Parameter& bias, std::string_view label) {
  NB_CHECK(bias.value.count() == x.shape().last(), "[add_bias] {}: x {}, {} {}", label,
           x.shape().text(), bias.name, bias.value.shape().text());
  Tensor y = result(x.device(), x.shape(), label);
  forward(
      {.kind = OpKind::kAddBias,
       .label = label,
       .rows = x.shape().leading(),
       .cols = x.shape().last(),
       .inputs = {&x, &bias.value}},
      y, host::Binary{x.values(), bias.value.values(), y.values(), kernels::add_bias}, {&x},
      [&] {
        return [&bias, trains = bias.is_trained](const Tensor& dy, const SavedBlocks&) {
          if (trains) backward_bias(dy, bias);
          return Tape::Gradients{dy};
        };
      },
      bias.is_trained);
  return y;
}

}  // namespace nb::ops
