// Everything that is measured beside what is predicted for it, and the figures that must hold.
// Seconds: each fitted row is left out of a fit of its own. Thread-safe.
#pragma once

#include "model/device/calibration.hpp"
#include "model/predict/family_values.hpp"
#include "model/predict/validation.hpp"

namespace nb {

// With own constants rows of that machine are predicted by them (ValidationRow::shipped: the error
// without); fits, left-out rows and constants stay those of the shipped family. bad_input: a row
// that lacks what its prediction needs.
Result<Validation> validate(const CalibrationTables& tables, const OwnConstants& own = {});

}  // namespace nb
