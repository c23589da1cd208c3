#include "model/ops/optimizer_ops.hpp"

#include <cmath>
#include <vector>

#include "harness/base/check.hpp"
#include "model/kernels/elementwise.hpp"
#include "model/kernels/muon.hpp"
#include "model/kernels/reduce.hpp"

namespace nb::ops {
namespace {

// One run a dtype, as the framework groups tensors; the arithmetic of all in the last.
void run_by_dtype(Device& device, OpKind kind, std::string_view label,
                  std::span<Tensor* const> tensors, const std::function<void()>& arithmetic) {
  std::vector<OpDesc> groups;
  for (const Tensor* tensor : tensors) {
    OpDesc* group = nullptr;
    for (OpDesc& known : groups) {
      if (known.dtype == tensor->dtype()) group = &known;
    }
    if (group == nullptr) {
      group = &groups.emplace_back(
          OpDesc{.kind = kind, .label = label, .tensors = 0, .dtype = tensor->dtype()});
    }
    group->count += tensor->count();
    group->tensors += 1;
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const bool is_last = i + 1 == groups.size();
    device.run(groups[i], [&] {
      if (is_last) arithmetic();
    });
  }
}

OpDesc matrix_desc(OpKind kind, const Tensor& tensor, std::string_view label) {
  NB_CHECK(tensor.shape().rank() == 2, "[muon] {}: {} is no matrix", label, tensor.shape().text());
  return {.kind = kind, .label = label, .rows = tensor.shape()[0], .cols = tensor.shape()[1]};
}

}  // namespace

double grad_norm(Device& device, std::span<Tensor* const> gradients) {
  double norm = 0;
  run_by_dtype(device, OpKind::kGradNorm, "grad_norm", gradients, [&] {
    double sum = 0;
    for (const Tensor* gradient : gradients) sum += kernels::sum_of_squares(gradient->host());
    norm = std::sqrt(sum);
  });
  return norm;
}

void grad_scale(Device& device, std::span<Tensor* const> gradients, float factor) {
  run_by_dtype(device, OpKind::kGradScale, "grad_clip", gradients, [&] {
    if (factor == 1.0F) return;
    for (Tensor* gradient : gradients) {
      kernels::scale(gradient->host(), factor);
      if (gradient->dtype() != DType::kFp32) {
        kernels::cast(gradient->host(), gradient->host(), gradient->dtype());
      }
    }
  });
}

void adamw(Device& device, Tensor& parameter, const Tensor& gradient, Tensor& m, Tensor& v,
           kernels::AdamWSettings settings, std::string_view label) {
  NB_CHECK(gradient.shape() == parameter.shape() && m.shape() == parameter.shape() &&
               v.shape() == parameter.shape(),
           "[adamw] {}: p {}, g {}, m {}, v {}", label, parameter.shape().text(),
           gradient.shape().text(), m.shape().text(), v.shape().text());
  NB_CHECK(m.dtype() == v.dtype(), "[adamw] {}: moments of two dtypes", label);
  settings.parameter = parameter.dtype();
  settings.state = m.dtype();
  device.run(
      {.kind = OpKind::kAdamW,
       .label = label,
       .count = parameter.count(),
       .dtype = parameter.dtype(),
       .inputs = {&parameter, &gradient, &m, &v},
       .output = &parameter},
      [&] { kernels::adamw(parameter.host(), gradient.host(), m.host(), v.host(), settings); });
}

void muon_momentum(Device& device, Tensor& gradient, Tensor& buffer, double momentum,
                   std::string_view label) {
  NB_CHECK(gradient.shape() == buffer.shape(), "[muon_momentum] {}: g {}, buffer {}", label,
           gradient.shape().text(), buffer.shape().text());
  OpDesc desc = matrix_desc(OpKind::kMuonMomentum, gradient, label);
  desc.inputs = {&gradient, &buffer};
  desc.output = &gradient;
  device.run(desc, [&] {
    kernels::muon_momentum(gradient.host(), buffer.host(), gradient.host(), momentum);
  });
}

Tensor newton_schulz(Device& device, const Tensor& update, std::string_view label) {
  const NumericsPolicy& numerics = device.numerics();
  Tensor x = device.allocate(update.shape(), numerics.muon_matmul, label);
  OpDesc desc = matrix_desc(OpKind::kNewtonSchulz, update, label);
  desc.inputs = {&update};
  desc.output = &x;
  device.run(desc, [&] {
    kernels::NewtonSchulzSettings settings;
    settings.matmul = numerics.muon();
    settings.pointwise = numerics.pointwise_policy();
    settings.pointwise.storage = numerics.muon_matmul;
    kernels::newton_schulz(update.matrix(), x.matrix(), settings);
  });
  return x;
}

void muon_update(Device& device, Tensor& parameter, const Tensor& update, double learning_rate,
                 std::string_view label) {
  NB_CHECK(parameter.shape() == update.shape(), "[muon_update] {}: p {}, update {}", label,
           parameter.shape().text(), update.shape().text());
  OpDesc desc = matrix_desc(OpKind::kMuonUpdate, parameter, label);
  desc.inputs = {&parameter, &update};
  desc.output = &parameter;
  device.run(desc,
             [&] { kernels::muon_update(parameter.matrix(), update.matrix(), learning_rate); });
}

}  // namespace nb::ops
