// CostModel: kernel × profile → time on the device and what limits it. Pure; integer ns; only + − ×
// ÷ on doubles, so the same on every host. Formulas in cost_model.cpp beside their sources.
#pragma once

#include <cstdint>

#include "model/device/lowering.hpp"
#include "model/device/profile.hpp"
#include "model/device/trace.hpp"

namespace nb {

struct KernelCost {
  std::int64_t time_ns = 0;  // launch overhead on the device included, host dispatch not
  Limiter limiter = Limiter::kCompute;
};

// NB_CHECK fails when the matrix unit does not have the kernel's dtype.
KernelCost kernel_cost(const Kernel& kernel, const DeviceProfile& profile);

// A kernel that only brings operands to the matrix unit from main memory, converted on their way,
// in rows of burst_bytes: the load of a product without its arithmetic.
std::int64_t operand_load_ns(const Kernel& kernel, const DeviceProfile& profile);

// Nearest whole ns, halves up; negative is 0.
std::int64_t round_ns(double time_ns);

}  // namespace nb
