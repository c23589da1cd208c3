#include "model/ops/gate_heads.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

OpDesc describe(OpKind kind, const Shape& x, std::int64_t heads, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .heads = heads,
          .head_dim = x.last() / heads,
          .rows = x.leading()};
}

Tensor backward_input(const Tensor& dy, const Tensor& gate, std::string_view label) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  OpDesc desc = describe(OpKind::kGateHeadsBackwardInput, dy.shape(), gate.shape().last(), label);
  desc.inputs = {&dy};
  desc.output = &dx;
  host::run_backward(dy.device(), desc, {},
                     {.in = {dy.values(), gate.values()}, .out = {dx.values()}});
  return dx;
}

Tensor backward_gate(const Tensor& dy, const Tensor& x, std::int64_t heads,
                     std::string_view label) {
  Tensor dgate = result(dy.device(), {dy.shape().leading(), heads}, label);
  OpDesc desc = describe(OpKind::kGateHeadsBackwardGate, dy.shape(), heads, label);
  desc.inputs = {&dy};
  desc.output = &dgate;
  host::run_backward(dy.device(), desc, {},
                     {.in = {dy.values(), x.values()}, .out = {dgate.values()}});
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
  OpDesc desc = describe(OpKind::kGateHeads, x.shape(), heads, label);
  desc.inputs = {wants_dgate ? &x : nullptr, wants_dx ? &gate : nullptr};
  forward(desc, y, {.in = {x.values(), gate.values()}, .out = {y.values()}}, {&x, &gate}, [&] {
    return [x = wants_dgate ? x.values_only() : Tensor(),
            gate = wants_dx ? gate.values_only() : Tensor(), heads,
            label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
      Tensor dx, dgate;
      if (!gate.empty()) dx = backward_input(dy, gate, label);
      if (!x.empty()) dgate = backward_gate(dy, x, heads, label);
      return Tape::Gradients{std::move(dx), std::move(dgate)};
    };
  });
  return y;
}

}  // namespace nb::ops
