#include "model/ops/elementwise.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/broadcast.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {

Tensor add(const Tensor& a, const Tensor& b, std::string_view label) {
  NB_CHECK(a.shape() == b.shape(), "[add] {}: {} + {}", label, a.shape().text(), b.shape().text());
  Tensor y = result(a.device(), a.shape(), label);
  forward({.kind = OpKind::kAdd,
           .label = label,
           .rows = a.shape().leading(),
           .cols = a.shape().last(),
           .inputs = {&a, &b}},
          y, host::Add{a.values(), b.values(), y.values()}, {&a, &b}, [] {
            return [](const Tensor& dy, const SavedBlocks&) { return Tape::Gradients{dy, dy}; };
          });
  return y;
}

namespace {

// dy times the other factor.
Tensor multiply_backward(const Tensor& dy, const Tensor& other, std::string_view label) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kMultiplyBackward,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy},
                      .output = &dx},
                     {}, host::Binary{dy.values(), other.values(), dx.values(), kernels::multiply});
  return dx;
}

}  // namespace

Tensor multiply(const Tensor& a, const Tensor& b, std::string_view label) {
  NB_CHECK(a.shape() == b.shape(), "[multiply] {}: {} times {}", label, a.shape().text(),
           b.shape().text());
  Tensor y = result(a.device(), a.shape(), label);
  // Each is kept for the other's gradient.
  const bool wants_da = Tape::wants_gradient(a), wants_db = Tape::wants_gradient(b);
  forward({.kind = OpKind::kMultiply,
           .label = label,
           .rows = a.shape().leading(),
           .cols = a.shape().last(),
           .inputs = {wants_db ? &a : nullptr, wants_da ? &b : nullptr}},
          y, host::Binary{a.values(), b.values(), y.values(), kernels::multiply}, {&a, &b}, [&] {
            return [a = wants_db ? a.values_only() : Tensor(),
                    b = wants_da ? b.values_only() : Tensor(), wants_da, wants_db,
                    label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
              Tensor da, db;
              if (wants_da) da = multiply_backward(dy, b, label);
              if (wants_db) db = multiply_backward(dy, a, label);
              return Tape::Gradients{std::move(da), std::move(db)};
            };
          });
  return y;
}

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
                     host::Scale{.x = dy.values(),
                                 .factors = factors.values(),
                                 .y = dx.values(),
                                 .factor = factor,
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
                     host::ScaleBackwardFactor{dy.values(), x.values(), d.values(), index});
}

}  // namespace

Tensor scale(const Tensor& x, double factor, std::string_view label) {
  Tensor y = result(x.device(), x.shape(), label);
  forward({.kind = OpKind::kScale,
           .label = label,
           .rows = x.shape().leading(),
           .cols = x.shape().last()},
          y, host::Scale{.x = x.values(), .factors = {}, .y = y.values(), .factor = factor}, {&x},
          [&] {
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
      y,
      host::Scale{
          .x = x.values(), .factors = factors.value.values(), .y = y.values(), .index = index},
      {&x},
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

namespace {

OpDesc describe_gate(OpKind kind, const Shape& x, std::int64_t heads, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .heads = heads,
          .head_dim = x.last() / heads,
          .rows = x.leading()};
}

Tensor gate_heads_backward_input(const Tensor& dy, const Tensor& gate, std::string_view label) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  OpDesc desc =
      describe_gate(OpKind::kGateHeadsBackwardInput, dy.shape(), gate.shape().last(), label);
  desc.inputs = {&dy};
  desc.output = &dx;
  host::run_backward(dy.device(), desc, {},
                     host::Binary{dy.values(), gate.values(), dx.values(), kernels::gate_heads});
  return dx;
}

Tensor gate_heads_backward_gate(const Tensor& dy, const Tensor& x, std::int64_t heads,
                                std::string_view label) {
  Tensor dgate = result(dy.device(), {dy.shape().leading(), heads}, label);
  OpDesc desc = describe_gate(OpKind::kGateHeadsBackwardGate, dy.shape(), heads, label);
  desc.inputs = {&dy};
  desc.output = &dgate;
  host::run_backward(dy.device(), desc, {},
                     host::GateHeadsBackwardGate{dy.values(), x.values(), dgate.values()});
  return dgate;
}

}  // namespace

Tensor gate_heads(const Tensor& x, const Tensor& gate, std::string_view label) {
  const std::int64_t heads = gate.shape().last();
  NB_CHECK(
      heads > 0 && gate.shape().leading() == x.shape().leading() && x.shape().last() % heads == 0,
      "[gate_heads] {}: x {}, gate {}", label, x.shape().text(), gate.shape().text());
  Tensor y = result(x.device(), x.shape(), label);
  // Each is kept for the other's gradient.
  const bool wants_dx = Tape::wants_gradient(x), wants_dgate = Tape::wants_gradient(gate);
  OpDesc desc = describe_gate(OpKind::kGateHeads, x.shape(), heads, label);
  desc.inputs = {wants_dgate ? &x : nullptr, wants_dx ? &gate : nullptr};
  forward(desc, y, host::Binary{x.values(), gate.values(), y.values(), kernels::gate_heads},
          {&x, &gate}, [&] {
            return [x = wants_dgate ? x.values_only() : Tensor(),
                    gate = wants_dx ? gate.values_only() : Tensor(), heads,
                    label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
              Tensor dx, dgate;
              if (!gate.empty()) dx = gate_heads_backward_input(dy, gate, label);
              if (!x.empty()) dgate = gate_heads_backward_gate(dy, x, heads, label);
              return Tape::Gradients{std::move(dx), std::move(dgate)};
            };
          });
  return y;
}

namespace {

Tensor dropout_backward(const Tensor& dy, double rate, const Rng& rng, std::string_view label,
                        SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kDropoutBackward,
                      .label = label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy},
                      .output = &dx},
                     std::move(saved), host::Dropout{dy.values(), dx.values(), rate, rng});
  return dx;
}

}  // namespace

Tensor dropout(const Tensor& x, double rate, const Rng& rng, std::string_view label) {
  NB_CHECK(rate >= 0 && rate < 1, "[dropout] {}: rate {}", label, rate);
  if (rate == 0) return x;
  Tensor y = result(x.device(), x.shape(), label);
  forward({.kind = OpKind::kDropout,
           .label = label,
           .rows = x.shape().leading(),
           .cols = x.shape().last(),
           .inputs = {&x}},
          y, host::Dropout{x.values(), y.values(), rate, rng}, {&x}, [&] {
            return [rate, rng, label = std::string(label)](const Tensor& dy, SavedBlocks saved) {
              return Tape::Gradients{dropout_backward(dy, rate, rng, label, std::move(saved))};
            };
          });
  return y;
}

}  // namespace nb::ops
