#include "model/ops/dropout.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
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
                     std::move(saved),
                     {.in = {dy.values()}, .out = {dx.values()}, .scale = rate, .rng = rng});
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
          y, {.in = {x.values()}, .out = {y.values()}, .scale = rate, .rng = rng}, {&x}, [&] {
            return [rate, rng, label = std::string(label)](const Tensor& dy, SavedBlocks saved) {
              return Tape::Gradients{dropout_backward(dy, rate, rng, label, std::move(saved))};
            };
          });
  return y;
}

}  // namespace nb::ops
