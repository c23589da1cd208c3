#include "model/ops/gain.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

Tensor backward_input(const Tensor& dy, const Parameter& gain, std::string_view label) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kApplyGainBackwardInput,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy, &gain.value},
                      .output = &dx},
                     {}, {.in = {dy.values(), gain.value.values()}, .out = {dx.values()}});
  return dx;
}

void backward_gain(const Tensor& dy, const Tensor& x, Parameter& gain, SavedBlocks saved) {
  const auto [dgain, accumulate] = gradient_slot(gain);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kApplyGainBackwardGain,
                      .label = gain.name,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .dtype = dgain.dtype(),
                      .accumulate = accumulate,
                      .inputs = {&dy, &x},
                      .output = &dgain},
                     std::move(saved), {.in = {dy.values(), x.values()}, .out = {dgain.values()}});
}

}  // namespace

Tensor apply_gain(const Tensor& x, Parameter& gain, std::string_view label) {
  NB_CHECK(gain.value.count() == x.shape().last(), "[apply_gain] {}: x {}, {} {}", label,
           x.shape().text(), gain.name, gain.value.shape().text());
  Tensor y = result(x.device(), x.shape(), label);
  forward(
      {.kind = OpKind::kApplyGain,
       .label = label,
       .rows = x.shape().leading(),
       .cols = x.shape().last(),
       .inputs = {gain.is_trained ? &x : nullptr, &gain.value}},
      y, {.in = {x.values(), gain.value.values()}, .out = {y.values()}}, {&x},
      [&] {
        const bool wants_dx = Tape::wants_gradient(x);
        return [x = gain.is_trained ? x.values_only() : Tensor(), &gain, wants_dx,
                label = std::string(label)](const Tensor& dy, SavedBlocks saved) {
          Tensor dx;
          if (wants_dx) dx = backward_input(dy, gain, label);
          if (!x.empty()) backward_gain(dy, x, gain, std::move(saved));
          return Tape::Gradients{std::move(dx)};
        };
      },
      gain.is_trained);
  return y;
}

}  // namespace nb::ops
