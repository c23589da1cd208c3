#include "model/ops/optimizer_ops.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "harness/base/check.hpp"
#include "harness/base/common_work.hpp"
#include "harness/base/parallel.hpp"
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

kernels::NewtonSchulzSettings newton_schulz_settings(const NumericsPolicy& numerics) {
  kernels::NewtonSchulzSettings settings;
  settings.matmul = numerics.muon();
  settings.pointwise = numerics.pointwise_policy();
  settings.pointwise.storage = numerics.muon_matmul;
  return settings;
}

// In place. Ranks with equal updates make them once: they have the same policy (World), so that
// bytes and shape say what comes of a matrix.
void orthogonalise_updates(std::span<const Matrix> updates, const NumericsPolicy& numerics) {
  const kernels::NewtonSchulzSettings settings = newton_schulz_settings(numerics);
  CommonWork* const common = CommonWork::of_thread();
  if (common == nullptr) return kernels::newton_schulz_all(updates, settings);
  std::vector<std::string> kinds;
  std::vector<std::span<float>> values;
  for (const Matrix& m : updates) {
    NB_CHECK(m.is_contiguous(), "[muon] rows of {} elements lie {} apart", m.cols, m.stride);
    kinds.push_back(fmt::format("newton_schulz {} x {}", m.rows, m.cols));
    values.emplace_back(m.data, static_cast<std::size_t>(m.size()));
  }
  // One at a time, so that ranks begin at different ones; or as many as threads work at side by
  // side.
  const std::size_t at_once = threads() == 1 ? 1 : 4 * static_cast<std::size_t>(threads());
  common->run(kinds, values, at_once, [&](std::span<const std::size_t> some) {
    std::vector<Matrix> chosen;
    for (const std::size_t i : some) chosen.push_back(updates[i]);
    kernels::newton_schulz_all(chosen, settings);
  });
}

void orthogonalise_all(std::span<const MuonMatrix> matrices, const NumericsPolicy& numerics) {
  std::vector<Matrix> updates;
  for (const MuonMatrix& m : matrices) updates.push_back(m.gradient.matrix());
  orthogonalise_updates(updates, numerics);
}

void update_all(std::span<const MuonMatrix> matrices, double learning_rate) {
  for (const MuonMatrix& m : matrices) {
    kernels::muon_update(m.parameter.matrix(), std::as_const(m.gradient).matrix(), learning_rate);
  }
}

}  // namespace

double grad_norm(Device& device, std::span<Tensor* const> gradients) {
  double norm = 0;
  run_by_dtype(device, OpKind::kGradNorm, "grad_norm", gradients,
               [&] { norm = norm_of(gradients); });
  return norm;
}

double grad_squares(Device& device, std::span<Tensor* const> gradients) {
  double sum = 0;
  run_by_dtype(device, OpKind::kGradNorm, "grad_norm", gradients,
               [&] { sum = squares_of(gradients); });
  return sum;
}

std::vector<double> grad_squares_each(Device& device, std::span<Tensor* const> gradients) {
  std::vector<double> squares(gradients.size());
  run_by_dtype(device, OpKind::kGradNorm, "grad_norm", gradients,
               [&] { squares = squares_of_each(gradients); });
  return squares;
}

std::vector<double> squares_of_each(std::span<Tensor* const> gradients) {
  std::vector<double> squares;
  for (Tensor* const& gradient : gradients) squares.push_back(squares_of({&gradient, 1}));
  return squares;
}

double squares_of(std::span<Tensor* const> gradients) {
  double sum = 0;
  for (const Tensor* gradient : gradients) sum += kernels::sum_of_squares(gradient->host());
  return sum;
}

double norm_of(std::span<Tensor* const> gradients) { return std::sqrt(squares_of(gradients)); }

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

void grad_average(Device& device, Tensor& a, Tensor& b, std::string_view label) {
  NB_CHECK(a.shape() == b.shape() && a.dtype() == b.dtype(), "[grad_average] {}: {} and {}", label,
           a.shape().text(), b.shape().text());
  device.run({.kind = OpKind::kGradScale,
              .label = label,
              .count = 2 * a.count(),
              .tensors = 2,
              .dtype = a.dtype()},
             [&] {
               const std::span<float> left = a.host(), right = b.host();
               for (std::size_t i = 0; i < left.size(); ++i)
                 left[i] = right[i] = round_to(a.dtype(), 0.5F * (left[i] + right[i]));
             });
}

void grad_round(Device& device, std::span<Tensor* const> gradients, DType dtype) {
  run_by_dtype(device, OpKind::kGradScale, "grad_round", gradients, [&] {
    for (Tensor* gradient : gradients) kernels::cast(gradient->host(), gradient->host(), dtype);
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
  settings.eager = device.numerics().pointwise == Pointwise::kEager;
  device.run(
      {.kind = OpKind::kAdamW,
       .label = label,
       .count = parameter.count(),
       .dtype = parameter.dtype(),
       .inputs = {&parameter, &gradient, &m, &v},
       .output = &parameter},
      [&] { kernels::adamw(parameter.host(), gradient.host(), m.host(), v.host(), settings); });
}

void adamw_slice(Device& device, Tensor& parameter, std::int64_t first, const Tensor& gradient,
                 Tensor& m, Tensor& v, kernels::AdamWSettings settings, std::string_view label) {
  NB_CHECK(m.shape() == gradient.shape() && v.shape() == gradient.shape() && first >= 0 &&
               first + gradient.count() <= parameter.count() && m.dtype() == v.dtype(),
           "[adamw] {}: p {} from {}, g {}, m {}, v {}", label, parameter.shape().text(), first,
           gradient.shape().text(), m.shape().text(), v.shape().text());
  settings.parameter = parameter.dtype();
  settings.state = m.dtype();
  settings.eager = device.numerics().pointwise == Pointwise::kEager;
  Tensor* const whole = device.executes() ? &parameter : nullptr;
  device.run({.kind = OpKind::kAdamW,
              .label = label,
              .count = gradient.count(),
              .dtype = parameter.dtype(),
              .inputs = {whole, &gradient, &m, &v},
              .output = whole},
             [&] {
               const auto slice = parameter.host().subspan(
                   static_cast<std::size_t>(first), static_cast<std::size_t>(gradient.count()));
               kernels::adamw(slice, gradient.host(), m.host(), v.host(), settings);
             });
}

void muon(Device& device, std::span<const MuonMatrix> matrices, double momentum,
          double learning_rate) {
  for (const MuonMatrix& m : matrices) {
    NB_CHECK(m.gradient.shape() == m.buffer.shape() && m.parameter.shape() == m.buffer.shape(),
             "[muon] {}: p {}, g {}, buffer {}", m.label, m.parameter.shape().text(),
             m.gradient.shape().text(), m.buffer.shape().text());
    const bool is_last = &m == &matrices.back();
    muon_momentum(device, m.gradient, m.buffer, momentum, m.label);
    const Tensor x = device.allocate(m.gradient.shape(), device.numerics().muon_matmul, m.label);
    OpDesc desc = matrix_desc(OpKind::kNewtonSchulz, m.gradient, m.label);
    desc.inputs = {&m.gradient};
    desc.output = &x;
    device.run(desc, [&] {
      if (is_last) orthogonalise_all(matrices, device.numerics());
    });
    desc = matrix_desc(OpKind::kMuonUpdate, m.parameter, m.label);
    desc.inputs = {&m.parameter, &x};
    desc.output = &m.parameter;
    device.run(desc, [&] {
      if (is_last) update_all(matrices, learning_rate);
    });
  }
}

void muon_momentum(Device& device, Tensor& gradient, Tensor& buffer, double momentum,
                   std::string_view label) {
  OpDesc desc = matrix_desc(OpKind::kMuonMomentum, gradient, label);
  desc.inputs = {&gradient, &buffer};
  desc.output = &gradient;
  device.run(desc, [&] {
    kernels::muon_momentum(gradient.host(), buffer.host(), gradient.host(), momentum,
                           buffer.dtype());
  });
}

void orthogonalise(Device& device, Tensor& update, std::string_view label) {
  OpDesc desc = matrix_desc(OpKind::kNewtonSchulz, update, label);
  desc.inputs = {&update};
  desc.output = &update;
  device.run(desc, [&] {
    const Matrix whole = update.matrix();
    orthogonalise_updates(std::span(&whole, 1), device.numerics());
  });
}

void muon_update(Device& device, Tensor& rows, const Tensor& x, double learning_rate,
                 const Shape& whole, std::string_view label) {
  OpDesc desc = matrix_desc(OpKind::kMuonUpdate, rows, label);
  desc.inputs = {&rows, &x};
  desc.output = &rows;
  device.run(desc, [&] {
    kernels::muon_update(rows.matrix(), x.matrix(), learning_rate, whole[0], whole[1]);
  });
}

}  // namespace nb::ops
