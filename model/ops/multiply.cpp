#include "model/ops/multiply.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
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
                     {}, {.in = {dy.values(), other.values()}, .out = {dx.values()}});
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
          y, {.in = {a.values(), b.values()}, .out = {y.values()}}, {&a, &b}, [&] {
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

}  // namespace nb::ops
