#include "model/ops/rms_norm.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

Tensor rms_norm_backward(const Tensor& dy, const Tensor& x, std::int64_t width,
                         const host::Values& rstd, std::string_view label, SavedBlocks saved) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kRmsNormBackward,
                      .label = label,
                      .rows = x.count() / width,
                      .cols = width,
                      .inputs = {&dy, &x},
                      .output = &dx},
                     std::move(saved),
                     {.in = {dy.values(), x.values(), rstd}, .out = {dx.values()}, .width = width});
  return dx;
}

}  // namespace

Tensor rms_norm(const Tensor& x, std::int64_t width, std::string_view label, float epsilon) {
  NB_CHECK(width > 0 && x.shape().last() % width == 0, "[rms_norm] {}: x {}, rows of {}", label,
           x.shape().text(), width);
  Device& device = x.device();
  const std::int64_t rows = x.count() / width;
  Tensor y = result(device, x.shape(), label);
  const host::Values rstd = host_rows(device, rows);
  forward(
      {.kind = OpKind::kRmsNorm, .label = label, .rows = rows, .cols = width, .inputs = {&x}}, y,
      {.in = {x.values()}, .out = {y.values(), rstd}, .width = width, .epsilon = epsilon}, {&x},
      [&] {
        return [x = x.values_only(), width, rstd, label = std::string(label)](const Tensor& dy,
                                                                              SavedBlocks saved) {
          return Tape::Gradients{rms_norm_backward(dy, x, width, rstd, label, std::move(saved))};
        };
      });
  return y;
}

}  // namespace nb::ops
