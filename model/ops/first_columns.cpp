#include "model/ops/first_columns.hpp"

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

Tensor first_columns_backward(const Tensor& dy, std::int64_t width, std::string_view label) {
  const std::int64_t rows = dy.shape().leading();
  Tensor dx = result(dy.device(), {rows, width}, label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kFirstColumnsBackward,
                      .label = label,
                      .rows = rows,
                      .cols = dy.shape().last(),
                      .inner = width,
                      .inputs = {&dy},
                      .output = &dx},
                     {}, {.in = {dy.values()}, .out = {dx.values()}});
  return dx;
}

}  // namespace

Tensor first_columns(const Tensor& x, std::int64_t count, std::string_view label) {
  const std::int64_t rows = x.shape().leading(), width = x.shape().last();
  NB_CHECK(count > 0 && count <= width && x.shape().rank() == 2, "[first_columns] {}: {} of x {}",
           label, count, x.shape().text());
  Tensor y = result(x.device(), {rows, count}, label);
  forward({.kind = OpKind::kFirstColumns,
           .label = label,
           .rows = rows,
           .cols = count,
           .inner = width,
           .inputs = {&x}},
          y, {.in = {x.values()}, .out = {y.values()}}, {&x}, [&] {
            return [width, label = std::string(label)](const Tensor& dy, const SavedBlocks&) {
              return Tape::Gradients{first_columns_backward(dy, width, label)};
            };
          });
  return y;
}

}  // namespace nb::ops
