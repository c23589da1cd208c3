#include "model/ops/add.hpp"

#include "harness/base/check.hpp"
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
          y, {.in = {a.values(), b.values()}, .out = {y.values()}}, {&a, &b}, [] {
            return [](const Tensor& dy, const SavedBlocks&) { return Tape::Gradients{dy, dy}; };
          });
  return y;
}

}  // namespace nb::ops
