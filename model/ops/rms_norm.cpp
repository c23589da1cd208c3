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

// The tensor's values as rows of `width`.
template <class View>
View rows_of(View numbers, std::int64_t rows, std::int64_t width) {
  numbers.rows = rows;
  numbers.cols = numbers.stride = width;
  return numbers;
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
                std::vector<float>* rstd, SavedBlocks* saved, HostBuffer host) {
  const std::int64_t rows = check_rows("rms_norm", x, width, label);
  const DType storage = device.numerics().storage;
  Tensor y = device.allocate(x.shape(), storage, label, host);
  keep(saved, device.run({.kind = OpKind::kRmsNorm,
                          .label = label,
                          .rows = rows,
                          .cols = width,
                          .saves_for_backward = saved != nullptr,
                          .inputs = {&x},
                          .output = &y},
                         [&] {
                           kernels::rms_norm(rows_of(x.numbers(), rows, width),
                                             rows_of(y.numbers_to_write(), rows, width),
                                             kept_rows(rstd, rows), storage);
                         }));
  return y;
}

Tensor rms_norm_backward(Device& device, const Tensor& dy, const Tensor& x, std::int64_t width,
                         const std::vector<float>& rstd, std::string_view label, SavedBlocks saved,
                         HostBuffer host) {
  NB_CHECK(width > 0 && x.shape().last() % width == 0 && dy.count() == x.count(),
           "[rms_norm_backward] {}: dy {}, x {}, rows of {}", label, dy.shape().text(),
           x.shape().text(), width);
  const std::int64_t rows = x.count() / width;
  const DType storage = device.numerics().storage;
  Tensor dx = device.allocate(dy.shape(), storage, label, host);
  device.run_backward({.kind = OpKind::kRmsNormBackward,
                       .label = label,
                       .rows = rows,
                       .cols = width,
                       .inputs = {&dy, &x},
                       .output = &dx},
                      std::move(saved), [&] {
                        kernels::rms_norm_backward(
                            rows_of(dy.numbers(), rows, width), rows_of(x.numbers(), rows, width),
                            rstd, rows_of(dx.numbers_to_write(), rows, width), storage);
                      });
  return dx;
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
    kernels::rms_norm_backward_add(rows_of(dy.numbers(), rows, width),
                                   rows_of(x.numbers(), rows, width), rstd,
                                   rows_of(dx.numbers_to_write(), rows, width), storage);
  });
}

}  // namespace nb::ops
