#include "model/ops/linear_add.hpp"

#include "harness/base/check.hpp"
#include "model/kernels/matmul.hpp"
#include "model/kernels/residual.hpp"
#include "model/kernels/scratch.hpp"
#include "model/ops/activation_buffer.hpp"
#include "model/ops/saved.hpp"
#include "model/ops/weight.hpp"

namespace nb::ops {
namespace {

OpDesc describe(OpKind kind, const Tensor& a, const Tensor& b, const Tensor& y,
                std::string_view label) {
  NB_CHECK(a.shape() == b.shape(), "[add] {}: {} + {}", label, a.shape().text(), b.shape().text());
  return {.kind = kind,
          .label = label,
          .rows = a.shape().leading(),
          .cols = a.shape().last(),
          .inputs = {&a, &b},
          .output = &y};
}

// y = round(a + product of x and w).
void add_product(const Device& device, kernels::PackFor use, ConstNumbers x, const Tensor& w,
                 ConstNumbers a, Numbers y) {
  const DType storage = device.numerics().storage;
  const MatmulPolicy policy = device.numerics().matmul();
  const bool is_nt = use == kernels::PackFor::kNt;
  if (const kernels::PackedMatrix* form = packed_weight(w, policy, use)) {
    return (is_nt ? kernels::matmul_nt_blocks : kernels::matmul_nn_blocks)(
        x, *form, policy,
        [&](const kernels::ProductBlock& block) { kernels::add_block(a, block, y, storage); });
  }
  const kernels::Scratch scratch(static_cast<std::size_t>(y.rows * y.cols) * sizeof(float));
  const Matrix product = matrix(scratch.floats(), y.rows, y.cols);
  (is_nt ? multiply_weight_nt : multiply_weight_nn)(x, w, product, policy, {});
  kernels::add(a, product, y, storage);
}

}  // namespace

Tensor add_linear(Device& device, const Tensor& a, const Tensor& product, const Tensor& x,
                  const Tensor& w, std::string_view label, SavedBlocks* saved) {
  Tensor y = device.allocate(a.shape(), device.numerics().storage, label, form_of(a));
  OpDesc desc = describe(OpKind::kAdd, a, product, y, label);
  desc.saves_for_backward = saved != nullptr;
  keep(saved, device.run(desc, [&] {
    add_product(device, kernels::PackFor::kNt, x.numbers(), w, a.numbers(), y.numbers_to_write());
  }));
  return y;
}

void add_linear_gradient(Device& device, Tensor& a, const Tensor& product, const Tensor& dy,
                         const Tensor& w, std::string_view label) {
  const OpDesc desc = describe(OpKind::kAddBackward, a, product, a, label);
  device.run_backward(desc, {}, [&] {
    add_product(device, kernels::PackFor::kNn, dy.numbers(), w, a.numbers(), a.numbers_to_write());
  });
}

}  // namespace nb::ops
