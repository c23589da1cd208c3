#include "model/ops/rms_norm.hpp"

#include <span>
#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/ops/saved.hpp"

namespace nb::ops {

Tensor rms_norm(Device& device, const Tensor& x, std::int64_t width, std::string_view label,
                std::vector<float>* rstd, SavedBlocks* saved) {
  NB_CHECK(width > 0 && x.shape().last() % width == 0, "[rms_norm] {}: x {}, rows of {}", label,
           x.shape().text(), width);
  const std::int64_t rows = x.count() / width;
  const DType storage = device.numerics().storage;
  Tensor y = device.allocate(x.shape(), storage, label);
  keep(saved, device.run({.kind = OpKind::kRmsNorm,
                          .label = label,
                          .rows = rows,
                          .cols = width,
                          .saves_for_backward = saved != nullptr,
                          .inputs = {&x},
                          .output = &y},
                         [&] {
                           std::span<float> kept;
                           if (rstd != nullptr) {
                             rstd->resize(static_cast<std::size_t>(rows));
                             kept = *rstd;
                           }
                           kernels::rms_norm(matrix(x.host().data(), rows, width),
                                             matrix(y.host().data(), rows, width), kept, storage);
                         }));
  return y;
}

Tensor rms_norm_backward(Device& device, const Tensor& dy, const Tensor& x, std::int64_t width,
                         const std::vector<float>& rstd, std::string_view label,
                         SavedBlocks saved) {
  NB_CHECK(width > 0 && x.shape().last() % width == 0 && dy.count() == x.count(),
           "[rms_norm_backward] {}: dy {}, x {}, rows of {}", label, dy.shape().text(),
           x.shape().text(), width);
  const std::int64_t rows = x.count() / width;
  const DType storage = device.numerics().storage;
  Tensor dx = device.allocate(dy.shape(), storage, label);
  device.run_backward({.kind = OpKind::kRmsNormBackward,
                       .label = label,
                       .rows = rows,
                       .cols = width,
                       .inputs = {&dy, &x},
                       .output = &dx},
                      std::move(saved), [&] {
                        kernels::rms_norm_backward(matrix(dy.host().data(), rows, width),
                                                   matrix(x.host().data(), rows, width), rstd,
                                                   matrix(dx.host().data(), rows, width), storage);
                      });
  return dx;
}

}  // namespace nb::ops
