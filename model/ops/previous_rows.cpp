#include "model/ops/previous_rows.hpp"

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

OpDesc describe(OpKind kind, const Tensor& x, std::int64_t time, std::string_view label) {
  return {.kind = kind,
          .label = label,
          .time = time,
          .rows = x.shape().leading(),
          .cols = x.shape().last(),
          .inputs = {&x}};
}

Tensor previous_rows_backward(const Tensor& dy, std::int64_t time, std::string_view label) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  OpDesc desc = describe(OpKind::kPreviousRowsBackward, dy, time, label);
  desc.output = &dx;
  host::run_backward(dy.device(), desc, {},
                     {.in = {dy.values()}, .out = {dx.values()}, .time = time});
  return dx;
}

}  // namespace

Tensor previous_rows(const Tensor& x, std::int64_t time, std::string_view label) {
  NB_CHECK(time > 0 && x.shape().leading() % time == 0, "[previous_rows] {}: x {}, sequences of {}",
           label, x.shape().text(), time);
  Tensor y = result(x.device(), x.shape(), label);
  forward(describe(OpKind::kPreviousRows, x, time, label), y,
          {.in = {x.values()}, .out = {y.values()}, .time = time}, {&x}, [&] {
            return [time, label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
              return Tape::Gradients{previous_rows_backward(dy, time, label)};
            };
          });
  return y;
}

}  // namespace nb::ops
