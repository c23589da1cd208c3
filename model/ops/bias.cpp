#include "model/ops/bias.hpp"

#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

void backward_bias(const Tensor& dy, Parameter& bias) {
  const auto [dbias, accumulate] = gradient_slot(bias);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kAddBiasBackward,
                      .label = bias.name,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .dtype = dbias.dtype(),
                      .accumulate = accumulate,
                      .inputs = {&dy},
                      .output = &dbias},
                     {}, {.in = {dy.values()}, .out = {dbias.values()}});
}

}  // namespace

Tensor add_bias(const Tensor& x, Parameter& bias, std::string_view label) {
  NB_CHECK(bias.value.count() == x.shape().last(), "[add_bias] {}: x {}, {} {}", label,
           x.shape().text(), bias.name, bias.value.shape().text());
  Tensor y = result(x.device(), x.shape(), label);
  forward(
      {.kind = OpKind::kAddBias,
       .label = label,
       .rows = x.shape().leading(),
       .cols = x.shape().last(),
       .inputs = {&x, &bias.value}},
      y, {.in = {x.values(), bias.value.values()}, .out = {y.values()}}, {&x},
      [&] {
        return [&bias, trains = bias.is_trained](const Tensor& dy, const SavedBlocks&) {
          if (trains) backward_bias(dy, bias);
          return Tape::Gradients{dy};
        };
      },
      bias.is_trained);
  return y;
}

}  // namespace nb::ops
