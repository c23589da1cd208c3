// Naive definitions of Muon's kernels. Same parameters as kernels/muon.hpp.
#pragma once

#include <span>

#include "model/kernels/muon.hpp"

namespace nb::kernels::reference {

void muon_momentum(std::span<const float> gradient, std::span<float> buffer,
                   std::span<float> update, double momentum, DType state, bool nesterov = true);
void newton_schulz(ConstMatrix x, Matrix out, const NewtonSchulzSettings& settings);
void muon_update(Matrix parameter, ConstMatrix update, double learning_rate);

}  // namespace nb::kernels::reference
