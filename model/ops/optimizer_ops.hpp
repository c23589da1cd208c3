// Fronts of what optimizers run on the device: gradient norm and clipping, AdamW, Muon.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/device/device.hpp"
#include "model/kernels/adamw.hpp"

namespace nb::ops {

// L2 norm over all gradients together, summed in the order given (kernels/reduce.hpp). 0 on a dry
// device.
double grad_norm(Device& device, std::span<Tensor* const> gradients);
double grad_squares(Device& device, std::span<Tensor* const> gradients);  // its square
// What the square is the sum of, one a gradient, in the same work of the device.
std::vector<double> grad_squares_each(Device& device, std::span<Tensor* const> gradients);
// The same numbers, read by the host alone: the device does nothing.
double norm_of(std::span<Tensor* const> gradients);
double squares_of(std::span<Tensor* const> gradients);
std::vector<double> squares_of_each(std::span<Tensor* const> gradients);
// In place; a gradient that is not fp32 is rounded to its dtype. Does nothing on the host for
// factor 1.
void grad_scale(Device& device, std::span<Tensor* const> gradients, float factor);
// Both become their mean, rounded to their dtype: what replicas do with a gradient.
void grad_average(Device& device, Tensor& a, Tensor& b, std::string_view label);
// Each rounded to dtype, in place.
void grad_round(Device& device, std::span<Tensor* const> gradients, DType dtype);

// One AdamW step of one tensor. m and v: same shape. settings.parameter and .state are taken from
// the tensors.
void adamw(Device& device, Tensor& parameter, const Tensor& gradient, Tensor& m, Tensor& v,
           kernels::AdamWSettings settings, std::string_view label);

// The same for the elements of a tensor from `first` on, as many as the gradient has: a view, which
// has no memory of its own.
void adamw_slice(Device& device, Tensor& parameter, std::int64_t first, const Tensor& gradient,
                 Tensor& m, Tensor& v, kernels::AdamWSettings settings, std::string_view label);

struct MuonMatrix {
  Tensor &parameter, &gradient, &buffer;  // of one shape
  std::string_view label;
};
// One Muon step of each matrix, one after the other on the device: buffer ← momentum average,
// gradient ← Nesterov update, in place as nanochat does; x, the orthogonalised update in the
// policy's Muon dtype; parameter −= lr √max(1, rows/cols) × x. The host works on the matrices side
// by side and leaves x in their gradients.
void muon(Device& device, std::span<const MuonMatrix> matrices, double momentum,
          double learning_rate);

// Its parts, where ranks have rows of the matrices. gradient ← Nesterov update, in place.
void muon_momentum(Device& device, Tensor& gradient, Tensor& buffer, double momentum,
                   std::string_view label);
// A whole update in the policy's Muon dtype, in place.
void orthogonalise(Device& device, Tensor& update, std::string_view label);
// Rows of a matrix of shape `whole` −= lr √max(1, rows/cols) × x.
void muon_update(Device& device, Tensor& rows, const Tensor& x, double learning_rate,
                 const Shape& whole, std::string_view label);

}  // namespace nb::ops
