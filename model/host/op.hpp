// What the host computes for one op of the device, as a plain value: which kernel, on which values,
// rounded how. Recorded by a Program, which runs it later, alone or together with its neighbours.
#pragma once

#include <string>
#include <variant>

#include "model/device/numerics.hpp"
#include "model/device/op_desc.hpp"
#include "model/host/operands.hpp"

namespace nb::host {

struct Op {
  OpKind kind{};
  std::string label = {};
  DType dtype = DType::kFp32;                // as in the OpDesc
  bool accumulate = false;                   // a gradient is added to
  const NumericsPolicy* numerics = nullptr;  // of the use in which it was recorded
  Operands operands = {};

  template <class T>
  const T& as() const {
    return std::get<T>(operands);
  }
  template <class T>
  bool is() const {
    return std::holds_alternative<T>(operands);
  }
};

}  // namespace nb::host
