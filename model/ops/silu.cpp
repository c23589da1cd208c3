#include "model/ops/silu.hpp"

#include <utility>

#include "model/ops/result.hpp"

namespace nb::ops {
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

}  // namespace nb::ops
