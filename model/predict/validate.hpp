// Everything that is measured beside what is predicted for it, and the figures that must hold.
// Seconds: each fitted row is left out of a fit of its own. Thread-safe.
#pragma once

#include "model/device/calibration.hpp"
#include "model/predict/validation.hpp"

namespace nb {

// bad_input: a row that lacks what its prediction needs.
Result<Validation> validate(const CalibrationTables& tables);

}  // namespace nb
