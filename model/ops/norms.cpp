#include "model/ops/norms.hpp"

#include <optional>
#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/broadcast.hpp"
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
                     host::RmsNormBackward{dy.values(), x.values(), rstd, dx.values(), width});
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
      host::RmsNorm{x.values(), y.values(), rstd, width, epsilon}, {&x}, [&] {
        return [x = x.values_only(), width, rstd, label = std::string(label)](const Tensor& dy,
                                                                              SavedBlocks saved) {
          return Tape::Gradients{rms_norm_backward(dy, x, width, rstd, label, std::move(saved))};
        };
      });
  return y;
}

namespace {

// What a norm keeps for its gradient; x, mean and rstd as the host's values.
struct LayerNormKept {
  Tensor x;
  host::Values mean, rstd;
  Parameter& gain;
  Parameter& bias;
  bool wants_dx, trains_gain, trains_bias;
  std::string label;
};

Tensor layer_norm_backward_input(const Tensor& dy, const LayerNormKept& kept) {
  Tensor dx = result(dy.device(), dy.shape(), kept.label);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kLayerNormBackwardInput,
                      .label = kept.label,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .inputs = {&dy, &kept.x, &kept.gain.value},
                      .output = &dx},
                     {},
                     host::LayerNormBackwardInput{.dy = dy.values(),
                                                  .x = kept.x.values(),
                                                  .gain = kept.gain.value.values(),
                                                  .mean = kept.mean,
                                                  .rstd = kept.rstd,
                                                  .dx = dx.values()});
  return dx;
}

// One kernel for the gradients that are there.
void layer_norm_backward_weights(const Tensor& dy, const LayerNormKept& kept, const Tensor& dgain,
                                 const Tensor& dbias, bool accumulate, SavedBlocks saved) {
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
                     host::LayerNormBackwardWeights{.dy = dy.values(),
                                                    .x = kept.x.values(),
                                                    .mean = kept.mean,
                                                    .rstd = kept.rstd,
                                                    .dgain = dgain.values(),
                                                    .dbias = dbias.values()});
}

Tensor layer_norm_backward(const Tensor& dy, const LayerNormKept& kept, SavedBlocks saved) {
  Tensor dx;
  if (kept.wants_dx) dx = layer_norm_backward_input(dy, kept);
  std::optional<GradientSlot> gain, bias;
  if (kept.trains_gain) gain.emplace(gradient_slot(kept.gain));
  if (kept.trains_bias) bias.emplace(gradient_slot(kept.bias));
  if (gain && bias &&
      (gain->accumulate != bias->accumulate || gain->tensor.dtype() != bias->tensor.dtype())) {
    layer_norm_backward_weights(dy, kept, gain->tensor, {}, gain->accumulate, {});
    layer_norm_backward_weights(dy, kept, {}, bias->tensor, bias->accumulate, std::move(saved));
  } else if (gain || bias) {
    layer_norm_backward_weights(dy, kept, gain ? gain->tensor : Tensor(),
                                bias ? bias->tensor : Tensor(), (gain ? gain : bias)->accumulate,
                                std::move(saved));
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
      host::LayerNorm{.x = x.values(),
                      .gain = gain.value.values(),
                      .bias = bias.value.values(),
                      .y = y.values(),
                      .mean = mean,
                      .rstd = rstd,
                      .epsilon = epsilon},
      {&x},
      [&] {
        return [kept = LayerNormKept{x.values_only(), mean, rstd, gain, bias,
                                     Tape::wants_gradient(x), gain.is_trained, bias.is_trained,
                                     std::string(label)}](const Tensor& dy, SavedBlocks saved) {
          return Tape::Gradients{layer_norm_backward(dy, kept, std::move(saved))};
        };
      },
      gain.is_trained || bias.is_trained);
  return y;
}

namespace {

Tensor gain_backward_input(const Tensor& dy, const Parameter& gain, std::string_view label) {
  Tensor dx = result(dy.device(), dy.shape(), label);
  host::run_backward(
      dy.device(),
      {.kind = OpKind::kApplyGainBackwardInput,
       .label = label,
       .rows = dy.shape().leading(),
       .cols = dy.shape().last(),
       .inputs = {&dy, &gain.value},
       .output = &dx},
      {}, host::Binary{dy.values(), gain.value.values(), dx.values(), kernels::multiply});
  return dx;
}

void gain_backward_gain(const Tensor& dy, const Tensor& x, Parameter& gain, SavedBlocks saved) {
  const auto [dgain, accumulate] = gradient_slot(gain);
  host::run_backward(dy.device(),
                     {.kind = OpKind::kApplyGainBackwardGain,
                      .label = gain.name,
                      .rows = dy.shape().leading(),
                      .cols = dy.shape().last(),
                      .dtype = dgain.dtype(),
                      .accumulate = accumulate,
                      .inputs = {&dy, &x},
                      .output = &dgain},
                     std::move(saved),
                     host::ApplyGainBackwardGain{dy.values(), x.values(), dgain.values()});
}

}  // namespace

Tensor apply_gain(const Tensor& x, Parameter& gain, std::string_view label) {
  NB_CHECK(gain.value.count() == x.shape().last(), "[apply_gain] {}: x {}, {} {}", label,
           x.shape().text(), gain.name, gain.value.shape().text());
  Tensor y = result(x.device(), x.shape(), label);
  forward(
      {.kind = OpKind::kApplyGain,
       .label = label,
       .rows = x.shape().leading(),
       .cols = x.shape().last(),
       .inputs = {gain.is_trained ? &x : nullptr, &gain.value}},
      y, host::Binary{x.values(), gain.value.values(), y.values(), kernels::multiply}, {&x},
      [&] {
        const bool wants_dx = Tape::wants_gradient(x);
        return [x = gain.is_trained ? x.values_only() : Tensor(), &gain, wants_dx,
                label = std::string(label)](const Tensor& dy, SavedBlocks saved) {
          Tensor dx;
          if (wants_dx) dx = gain_backward_input(dy, gain, label);
          if (!x.empty()) gain_backward_gain(dy, x, gain, std::move(saved));
          return Tape::Gradients{std::move(dx)};
        };
      },
      gain.is_trained);
  return y;
}

}  // namespace nb::ops
