#include "model/ops/gated.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/gated.hpp"
#include "model/kernels/rms_norm.hpp"

namespace nb::ops {
namespace {

// b: a's shape, or one row.
Tensor product(const Tensor& a, const Tensor& b, std::int64_t rows_of_b, std::string_view label) {
  Device& device = a.device();
  const std::int64_t cols = a.shape().last();
  Tensor y = device.allocate(a.shape(), device.numerics().storage, label);
  static_cast<void>(device.run({.kind = OpKind::kMultiply,
                                .label = label,
                                .rows = a.shape().leading(),
                                .cols = cols,
                                .inner = rows_of_b,
                                .inputs = {&a, &b},
                                .output = &y},
                               [&] {
                                 kernels::multiply(a.matrix(),
                                                   matrix(b.host().data(), rows_of_b, cols),
                                                   y.matrix(), device.numerics().storage);
                               }));
  return y;
}

}  // namespace

Tensor rms_norm_with_gain(const Tensor& x, const Tensor& gain, float epsilon,
                          std::string_view label) {
  Device& device = x.device();
  const std::int64_t cols = x.shape().last();
  NB_CHECK(gain.count() == cols, "[rms_norm_with_gain] {}: x {}, gain {}", label, x.shape().text(),
           gain.shape().text());
  const DType storage = device.numerics().storage;
  Tensor normed = device.allocate(x.shape(), storage, label);
  static_cast<void>(
      device.run({.kind = OpKind::kRmsNorm,
                  .label = label,
                  .rows = x.shape().leading(),
                  .cols = cols,
                  .inputs = {&x},
                  .output = &normed},
                 [&] { kernels::rms_norm(x.matrix(), normed.matrix(), {}, storage, epsilon); }));
  return product(normed, gain, 1, label);
}

Tensor silu(const Tensor& x, std::string_view label) {
  Device& device = x.device();
  const DType storage = device.numerics().storage;
  Tensor y = device.allocate(x.shape(), storage, label);
  static_cast<void>(device.run({.kind = OpKind::kSilu,
                                .label = label,
                                .rows = x.shape().leading(),
                                .cols = x.shape().last(),
                                .inputs = {&x},
                                .output = &y},
                               [&] { kernels::silu(x.matrix(), y.matrix(), storage); }));
  return y;
}

Tensor multiply(const Tensor& a, const Tensor& b, std::string_view label) {
  NB_CHECK(a.shape() == b.shape(), "[multiply] {}: {} times {}", label, a.shape().text(),
           b.shape().text());
  return product(a, b, a.shape().leading(), label);
}

}  // namespace nb::ops
