#include "model/ops/activations.hpp"

#include <string>
#include <utility>

#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

// What the gradient reads beside dy.
enum class Keeps { kInput, kResult };

OpDesc describe(OpKind kind, const Tensor& x, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .rows = x.shape().leading(),
          .cols = x.shape().last(),
          .inputs = {&x}};
}

Tensor activation_backward(OpKind kind, const Tensor& dy, const Tensor& kept,
                           std::string_view label, SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  OpDesc desc = describe(kind, dy, label);
  desc.output = &dx;
  host::run_backward(dy.device(), desc, std::move(saved),
                     {.in = {dy.values(), kept.values()}, .out = {dx.values()}});
  return dx;
}

Tensor activation(OpKind kind, OpKind backward_kind, Keeps keeps, const Tensor& x,
                  std::string_view label) {
  Tensor y = result(x.device(), x.shape(), label);
  forward(describe(kind, x, label), y, {.in = {x.values()}, .out = {y.values()}}, {&x}, [&] {
    return [backward_kind, kept = (keeps == Keeps::kInput ? x : y).values_only(),
            label = std::string(label)](const Tensor& dy, SavedBlocks saved) {
      return Tape::Gradients{activation_backward(backward_kind, dy, kept, label, std::move(saved))};
    };
  });
  return y;
}

}  // namespace

Tensor gelu(const Tensor& x, std::string_view label) {
  return activation(OpKind::kGelu, OpKind::kGeluBackward, Keeps::kInput, x, label);
}
Tensor silu(const Tensor& x, std::string_view label) {
  return activation(OpKind::kSilu, OpKind::kSiluBackward, Keeps::kInput, x, label);
}
Tensor sigmoid(const Tensor& x, std::string_view label) {
  return activation(OpKind::kSigmoid, OpKind::kSigmoidBackward, Keeps::kResult, x, label);
}
Tensor relu_squared(const Tensor& x, std::string_view label) {
  return activation(OpKind::kReluSquared, OpKind::kReluSquaredBackward, Keeps::kInput, x, label);
}

}  // namespace nb::ops
