#include "model/ops/layer_norm.hpp"

#include <optional>
#include <utility>

#include "harness/base/check.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {
namespace {

// What a norm keeps for its gradient; x, mean and rstd as the host's values.
struct Kept {
  Tensor x;
  host::Values mean, rstd;
  Parameter& gain;
  Parameter& bias;
  bool wants_dx, trains_gain, trains_bias;
  std::string label;
};

Tensor backward_input(const Tensor& dy, const Kept& kept) {
  Tensor dx = result(dy.device(), dy.shape(), kept.label);
  host::run_backward(
      dy.device(),
      {.kind = OpKind::kLayerNormBackwardInput,
       .label = kept.label,
       .rows = dy.shape().leading(),
       .cols = dy.shape().last(),
       .inputs = {&dy, &kept.x, &kept.gain.value},
       .output = &dx},
      {},
      {.in = {dy.values(), kept.x.values(), kept.gain.value.values(), kept.mean, kept.rstd},
       .out = {dx.values()}});
  return dx;
}

// One kernel for the gradients that are there.
void backward_weights(const Tensor& dy, const Kept& kept, const Tensor& dgain, const Tensor& dbias,
                      bool accumulate, SavedBlocks saved) {
  const Tensor& first = dgain.empty() ? dbias : dgain;
  host::run_backward(dy.device(),
                     {.kind = OpKind::kLayerNormBackwardWeights,
                      .label = kept.label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .tensors = dgain.empty() || dbias.empty() ? 1 : 2,
                      .dtype = first.dtype(),
                      .accumulate = accumulate,
                      .inputs = {&dy, &kept.x},
                      .output = &first},
                     std::move(saved),
                     {.in = {dy.values(), kept.x.values(), kept.mean, kept.rstd},
                      .out = {dgain.values(), dbias.values()}});
}

Tensor layer_norm_backward(const Tensor& dy, const Kept& kept, SavedBlocks saved) {
  Tensor dx;
  if (kept.wants_dx) dx = backward_input(dy, kept);
  std::optional<GradientSlot> gain, bias;
  if (kept.trains_gain) gain.emplace(gradient_slot(kept.gain));
  if (kept.trains_bias) bias.emplace(gradient_slot(kept.bias));
  if (gain && bias &&
      (gain->accumulate != bias->accumulate || gain->tensor.dtype() != bias->tensor.dtype())) {
    backward_weights(dy, kept, gain->tensor, {}, gain->accumulate, {});
    backward_weights(dy, kept, {}, bias->tensor, bias->accumulate, std::move(saved));
  } else if (gain || bias) {
    backward_weights(dy, kept, gain ? gain->tensor : Tensor(), bias ? bias->tensor : Tensor(),
                     (gain ? gain : bias)->accumulate, std::move(saved));
  }
  return dx;
}

}  // namespace

Tensor layer_norm(const Tensor& x, Parameter& gain, Parameter& bias, float epsilon,
                  std::string_view label) {
  const std::int64_t rows = x.shape().leading(), cols = x.shape().last();
  NB_CHECK(gain.value.count() == cols && bias.value.count() == cols,
           "[layer_norm] {}: x {}, {} {}, {} {}", label, x.shape().text(), gain.name,
           gain.value.shape().text(), bias.name, bias.value.shape().text());
  Device& device = x.device();
  Tensor y = result(device, x.shape(), label);
  const host::Values mean = host_rows(device, rows), rstd = host_rows(device, rows);
  forward(
      {.kind = OpKind::kLayerNorm,
       .label = label,
       .rows = rows,
       .cols = cols,
       .inputs = {&x, &gain.value, &bias.value}},
      y,
      {.in = {x.values(), gain.value.values(), bias.value.values()},
       .out = {y.values(), mean, rstd},
       .epsilon = epsilon},
      {&x},
      [&] {
        return [kept = Kept{x.values_only(), mean, rstd, gain, bias, Tape::wants_gradient(x),
                            gain.is_trained, bias.is_trained, std::string(label)}](
                   const Tensor& dy, SavedBlocks saved) {
          return Tape::Gradients{layer_norm_backward(dy, kept, std::move(saved))};
        };
      },
      gain.is_trained || bias.is_trained);
  return y;
}

}  // namespace nb::ops
