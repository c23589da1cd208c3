// What the objectives share: an op from the losses of tokens to one number, whose gradient the host
// forms beside it. Not for other folders.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "model/kernels/objectives.hpp"
#include "model/ops/result.hpp"

namespace nb::ops {

// desc: kind, label, sizes. operands: on the device until backward is done.
Tensor objective(const Tensor& losses, OpDesc desc, OpKind backward_kind,
                 kernels::Objective objective, double scale, std::vector<Tensor> operands);

}  // namespace nb::ops
