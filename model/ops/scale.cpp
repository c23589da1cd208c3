#include "model/ops/scale.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

// x or dy times a constant (factors null), or an element of factors.
Tensor scale_backward_input(const Tensor& dy, double factor, const Tensor& factors,
                            std::int64_t index, std::string_view label) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kScaleBackwardInput,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy},
                      .output = &dx},
                     {},
                     {.in = {dy.values(), factors.values()},
                      .out = {dx.values()},
                      .scale = factor,
                      .index = index});
  return dx;
}

void scale_backward_factor(const Tensor& dy, const Tensor& x, Parameter& factors,
                           std::int64_t index, SavedBlocks saved) {
  const auto [d, accumulate] = gradient_slot(factors);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kScaleBackwardFactor,
                      .label = factors.name,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .count = d.count(),
                      .dtype = d.dtype(),
                      .accumulate = accumulate,
                      .inputs = {&dy, &x},
                      .output = &d},
                     std::move(saved),
                     {.in = {dy.values(), x.values()}, .out = {d.values()}, .index = index});
}

}  // namespace

Tensor scale(const Tensor& x, double factor, std::string_view label) {
  Tensor y = result(x.device(), x.shape(), label);
  forward({.kind = OpKind::kScale,
           .label = label,
           .rows = x.shape().leading(),
           .cols = x.shape().last()},
          y, {.in = {x.values()}, .out = {y.values()}, .scale = factor}, {&x}, [&] {
            return [factor, label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
              return Tape::Gradients{scale_backward_input(dy, factor, {}, 0, label)};
            };
          });
  return y;
}

Tensor scale(const Tensor& x, Parameter& factors, std::int64_t index, std::string_view label) {
  NB_CHECK(index >= 0 && index < factors.value.count(), "[scale] {}: element {} of {} {}", label,
           index, factors.name, factors.value.shape().text());
  Tensor y = result(x.device(), x.shape(), label);
  forward(
      {.kind = OpKind::kScale,
       .label = label,
       .rows = x.shape().leading(),
       .cols = x.shape().last(),
       .inputs = {factors.is_trained ? &x : nullptr}},
      y, {.in = {x.values(), factors.value.values()}, .out = {y.values()}, .index = index}, {&x},
      [&] {
        const bool wants_dx = Tape::wants_gradient(x);
        return [x = factors.is_trained ? x.values_only() : Tensor(), &factors, index, wants_dx,
                label = std::string(label)](const Tensor& dy, SavedBlocks saved) {
          Tensor dx;
          if (wants_dx) dx = scale_backward_input(dy, 1, factors.value, index, label);
          if (!x.empty()) scale_backward_factor(dy, x, factors, index, std::move(saved));
          return Tape::Gradients{std::move(dx)};
        };
      },
      factors.is_trained);
  return y;
}

Tensor scale(const Tensor& x, Parameter& factor, std::string_view label) {
  NB_CHECK(factor.value.count() == 1, "[scale] {}: {} {} is no single factor", label, factor.name,
           factor.value.shape().text());
  return scale(x, factor, 0, label);
}

}  // namespace nb::ops
