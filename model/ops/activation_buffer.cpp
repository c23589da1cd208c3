#include "model/ops/activation_buffer.hpp"

#include "model/kernels/policy.hpp"

namespace nb::ops {

HostBuffer activation_buffer(const Device& device) {
  const NumericsPolicy& n = device.numerics();
  const MatmulPolicy forward = n.matmul(), gradient = n.weight_gradient_matmul();
  const bool fits = n.storage == DType::kBf16 && forward.output == DType::kBf16 &&
                    forward.accumulation != Accumulation::kHostBlas && has_halves(forward) &&
                    has_halves(gradient);
  return fits ? HostBuffer::kHalves : HostBuffer::kYes;
}

HostBuffer form_of(const Tensor& x) {
  return x.halves().empty() ? HostBuffer::kYes : HostBuffer::kHalves;
}

}  // namespace nb::ops
