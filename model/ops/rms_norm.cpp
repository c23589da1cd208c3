#include "model/ops/rms_norm.hpp"

#include <span>
#include <utility>

#include "harness/base/check.hpp"
#include "model/kernels/rms_norm.hpp"
#include "model/ops/saved.hpp"

namespace nb::ops {
namespace {

std::int64_t check_rows(const char* op, const Tensor& x, std::int64_t width,
                        std::string_view label) {
  NB_CHECK(width > 0 && x.shape().last() % width == 0, "[{}] {}: x {}, rows of {}", op, label,
           x.shape().text(), width);
  return x.count() / width;
}

std::span<float> kept_rows(std::vector<float>* rstd, std::int64_t rows) {
  if (rstd == nullptr) return {};
  rstd->resize(static_cast<std::size_t>(rows));
  return *rstd;
}

OpDesc norm_desc(OpKind kind, std::string_view label, std::int64_t rows, std::int64_t width) {
  return {.kind = kind, .label = label, .rows = rows, .cols = width};
}
// The sum's op sees whole rows of the tensor, whatever the norm's width.
OpDesc add_desc(OpKind kind, std::string_view label, const Tensor& a) {
  return norm_desc(kind, label, a.shape().leading(), a.shape().last());
}

}  // namespace

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

SumAndNorm add_rms_norm(Device& device, const Tensor& a, Tensor b, std::int64_t width,
                        std::string_view add_label, std::string_view norm_label,
                        std::vector<float>* rstd, SavedBlocks* add_saved, SavedBlocks* norm_saved) {
  NB_CHECK(a.shape() == b.shape(), "[add_rms_norm] {}: {} + {}", add_label, a.shape().text(),
           b.shape().text());
  const std::int64_t rows = check_rows("add_rms_norm", a, width, norm_label);
  const DType storage = device.numerics().storage;
  SumAndNorm result;
  result.sum = device.allocate(a.shape(), storage, add_label);
  OpDesc add = add_desc(OpKind::kAdd, add_label, a);
  add.inputs = {&a, &b};
  add.output = &result.sum;
  add.saves_for_backward = add_saved != nullptr;
  keep(add_saved, device.run(add, [] {}));
  b.drop_block();
  result.norm = device.allocate(a.shape(), storage, norm_label);
  OpDesc norm = norm_desc(OpKind::kRmsNorm, norm_label, rows, width);
  norm.inputs = {&result.sum};
  norm.output = &result.norm;
  norm.saves_for_backward = norm_saved != nullptr;
  keep(norm_saved, device.run(norm, [&] {
    kernels::add_rms_norm(
        matrix(a.host().data(), rows, width), matrix(std::as_const(b).host().data(), rows, width),
        matrix(result.sum.host().data(), rows, width),
        matrix(result.norm.host().data(), rows, width), kept_rows(rstd, rows), storage);
  }));
  return result;
}

void rms_norm_backward_add(Device& device, const Tensor& dy, const Tensor& x, std::int64_t width,
                           const std::vector<float>& rstd, std::string_view norm_label,
                           SavedBlocks saved, Tensor& dx, std::string_view add_label) {
  const std::int64_t rows = check_rows("rms_norm_backward_add", x, width, norm_label);
  NB_CHECK(dy.count() == x.count() && dx.shape() == dy.shape(),
           "[rms_norm_backward_add] {}: dy {}, x {}, dx {}", norm_label, dy.shape().text(),
           x.shape().text(), dx.shape().text());
  const DType storage = device.numerics().storage;
  const Tensor branch = device.allocate(dy.shape(), storage, norm_label, HostBuffer::kNone);
  OpDesc norm = norm_desc(OpKind::kRmsNormBackward, norm_label, rows, width);
  norm.inputs = {&dy, &x};
  norm.output = &branch;
  device.run_backward(norm, std::move(saved), [] {});
  OpDesc add = add_desc(OpKind::kAddBackward, add_label, dx);
  add.inputs = {&dx, &branch};
  add.output = &dx;
  device.run_backward(add, {}, [&] {
    kernels::rms_norm_backward_add(matrix(dy.host().data(), rows, width),
                                   matrix(x.host().data(), rows, width), rstd,
                                   matrix(dx.host().data(), rows, width), storage);
  });
}

}  // namespace nb::ops
