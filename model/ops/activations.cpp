#include "model/ops/activations.hpp"

#include <utility>

#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

Tensor gelu_backward(const Tensor& dy, const Tensor& x, std::string_view label, SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kGeluBackward,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy},
                      .output = &dx},
                     std::move(saved), {.in = {dy.values(), x.values()}, .out = {dx.values()}});
  return dx;
}

}  // namespace

Tensor gelu(const Tensor& x, std::string_view label) {
  Tensor y = result(x.device(), x.shape(), label);
  forward({.kind = OpKind::kGelu,
           .label = label,
           .rows = x.shape().leading(),
           .cols = x.shape().last(),
           .inputs = {&x}},
          y, {.in = {x.values()}, .out = {y.values()}}, {&x}, [&] {
            return [x = x.values_only(), label = std::string(label)](const Tensor& dy,
                                                                     SavedBlocks saved) {
              return Tape::Gradients{gelu_backward(dy, x, label, std::move(saved))};
            };
          });
  return y;
}

namespace {

Tensor silu_backward(const Tensor& dy, const Tensor& x, std::string_view label, SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kSiluBackward,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy},
                      .output = &dx},
                     std::move(saved), {.in = {dy.values(), x.values()}, .out = {dx.values()}});
  return dx;
}

}  // namespace

Tensor silu(const Tensor& x, std::string_view label) {
  Tensor y = result(x.device(), x.shape(), label);
  forward({.kind = OpKind::kSilu,
           .label = label,
           .rows = x.shape().leading(),
           .cols = x.shape().last(),
           .inputs = {&x}},
          y, {.in = {x.values()}, .out = {y.values()}}, {&x}, [&] {
            return [x = x.values_only(), label = std::string(label)](const Tensor& dy,
                                                                     SavedBlocks saved) {
              return Tape::Gradients{silu_backward(dy, x, label, std::move(saved))};
            };
          });
  return y;
}

namespace {

Tensor sigmoid_backward(const Tensor& dy, const Tensor& y, std::string_view label,
                        SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kSigmoidBackward,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy},
                      .output = &dx},
                     std::move(saved), {.in = {dy.values(), y.values()}, .out = {dx.values()}});
  return dx;
}

}  // namespace

Tensor sigmoid(const Tensor& x, std::string_view label) {
  Tensor y = result(x.device(), x.shape(), label);
  forward({.kind = OpKind::kSigmoid,
           .label = label,
           .rows = x.shape().leading(),
           .cols = x.shape().last(),
           .inputs = {&x}},
          y, {.in = {x.values()}, .out = {y.values()}}, {&x}, [&] {
            return [y = y.values_only(), label = std::string(label)](const Tensor& dy,
                                                                     SavedBlocks saved) {
              return Tape::Gradients{sigmoid_backward(dy, y, label, std::move(saved))};
            };
          });
  return y;
}

namespace {

Tensor relu_squared_backward(const Tensor& dy, const Tensor& x, std::string_view label,
                             SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kReluSquaredBackward,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy},
                      .output = &dx},
                     std::move(saved), {.in = {dy.values(), x.values()}, .out = {dx.values()}});
  return dx;
}

}  // namespace

Tensor relu_squared(const Tensor& x, std::string_view label) {
  Tensor y = result(x.device(), x.shape(), label);
  forward({.kind = OpKind::kReluSquared,
           .label = label,
           .rows = x.shape().leading(),
           .cols = x.shape().last(),
           .inputs = {&x}},
          y, {.in = {x.values()}, .out = {y.values()}}, {&x}, [&] {
            return [x = x.values_only(), label = std::string(label)](const Tensor& dy,
                                                                     SavedBlocks saved) {
              return Tape::Gradients{relu_squared_backward(dy, x, label, std::move(saved))};
            };
          });
  return y;
}

}  // namespace nb::ops
