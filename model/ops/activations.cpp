#include "model/ops/activations.hpp"

#include <string>
#include <utility>

#include "model/kernels/activation.hpp"
#include "model/kernels/relu_squared.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

struct Activation {
  OpKind kind, backward_kind;
  void (*kernel)(ConstMatrix x, Matrix y, DType storage);
  void (*backward_kernel)(ConstMatrix dy, ConstMatrix kept, Matrix dx, DType storage);
  bool keeps_result = false;  // what its gradient reads: y; otherwise x
};

constexpr Activation kGelu = {OpKind::kGelu, OpKind::kGeluBackward, kernels::gelu,
                              kernels::gelu_backward};
constexpr Activation kSilu = {OpKind::kSilu, OpKind::kSiluBackward, kernels::silu,
                              kernels::silu_backward};
constexpr Activation kSigmoid = {OpKind::kSigmoid, OpKind::kSigmoidBackward, kernels::sigmoid,
                                 kernels::sigmoid_backward, true};
constexpr Activation kReluSquared = {OpKind::kReluSquared, OpKind::kReluSquaredBackward,
                                     kernels::relu_squared, kernels::relu_squared_backward};

OpDesc describe(OpKind kind, const Tensor& x, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .rows = x.shape().leading(),
          .cols = x.shape().last(),
          .inputs = {&x}};
}

Tensor backward(const Activation& f, const Tensor& dy, const Tensor& kept, std::string_view label,
                SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  OpDesc desc = describe(f.backward_kind, dy, label);
  desc.output = &dx;
  host::run_backward(dy.device(), desc, std::move(saved),
                     host::Binary{dy.values(), kept.values(), dx.values(), f.backward_kernel});
  return dx;
}

Tensor activation(const Activation& f, const Tensor& x, std::string_view label) {
  Tensor y = result(x.device(), x.shape(), label);
  forward(describe(f.kind, x, label), y, host::Unary{x.values(), y.values(), f.kernel}, {&x}, [&] {
    return [&f, kept = (f.keeps_result ? y : x).values_only(), label = std::string(label)](
               const Tensor& dy, SavedBlocks saved) {
      return Tape::Gradients{backward(f, dy, kept, label, std::move(saved))};
    };
  });
  return y;
}

}  // namespace

Tensor gelu(const Tensor& x, std::string_view label) { return activation(kGelu, x, label); }
Tensor silu(const Tensor& x, std::string_view label) { return activation(kSilu, x, label); }
Tensor sigmoid(const Tensor& x, std::string_view label) { return activation(kSigmoid, x, label); }
Tensor relu_squared(const Tensor& x, std::string_view label) {
  return activation(kReluSquared, x, label);
}

}  // namespace nb::ops
