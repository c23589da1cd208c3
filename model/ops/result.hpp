// What ops share: their results, and running them.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include "harness/base/check.hpp"
#include "model/autograd/tape.hpp"
#include "model/host/program.hpp"

namespace nb::ops {

// A tensor in the storage dtype for what an op will compute.
inline Tensor result(Device& device, const Shape& shape, std::string_view label) {
  return device.allocate(shape, device.numerics().storage, label);
}

// Values that the host keeps for backward and the device counts elsewhere: (rows) of fp32.
inline host::Values host_rows(Device& device, std::int64_t rows) {
  if (!device.executes() || !Tape::is_open()) return nullptr;
  return std::make_shared<HostValues>(device, rows, 1);
}

// Whether a tape is open and somebody wants a gradient that goes through this op.
inline bool wants_backward(std::initializer_list<const Tensor*> inputs, bool trains) {
  return Tape::is_open() && (trains || std::ranges::any_of(inputs, [](const Tensor* x) {
                               return Tape::wants_gradient(*x);
                             }));
}

// A forward op: on the device, in the host's program, and on the tape. inputs: those that get a
// gradient, in the order in which backward() returns them. backward: makes the function that
// returns them; called where a tape is open and one of them, or a parameter (trains), wants one.
inline void forward(OpDesc desc, Tensor& y, host::Operands operands,
                    std::initializer_list<const Tensor*> inputs,
                    const std::function<Tape::Backward()>& backward, bool trains = false) {
  desc.output = &y;
  desc.saves_for_backward = wants_backward(inputs, trains);
  SavedBlocks saved = host::run(y.device(), desc, std::move(operands));
  if (desc.saves_for_backward) Tape::record(y, inputs, std::move(saved), backward);
}

// An op without a gradient: on the device and in the host's program.
inline void without_gradient(Device& device, const OpDesc& desc, host::Operands operands) {
  NB_CHECK(!Tape::is_open(), "[{}] {}: it has no gradient, and a tape is open", name(desc.kind),
           desc.label);
  static_cast<void>(host::run(device, desc, std::move(operands)));
}

}  // namespace nb::ops
