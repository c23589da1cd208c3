// Memory of Megatron's cards in closed form beside records: nothing is fitted. Thread-safe.
#pragma once

#include <span>

#include "model/predict/validation.hpp"

namespace nb {

// "static" and "peak"; plain rows are marked fit: they count, although nothing is fitted on them.
struct MemoryValidation {
  ValidationGroup standing, peak;
};
Result<MemoryValidation> validate_memory(std::span<const CalibrationRow> records);

}  // namespace nb
