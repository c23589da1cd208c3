// Fits the constants of the families on the rows that are marked fit, each within its range. Knows
// which family is fitted on which rows; writes nothing. Thread-safe.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/base/result.hpp"
#include "model/device/calibration.hpp"
#include "model/device/profile_layers.hpp"

namespace nb {

struct CalibratedFamily {
  Family before, after;               // `after` says in its note and sources what it was fitted on
  std::vector<std::string> fitted;    // names of the constants that were free
  std::vector<std::string> at_bound;  // of those: there the model is wrong, not the constant
  std::vector<std::string> rows;      // ids
  double error_before = 0, error_after = 0;  // mean absolute error of those rows
  std::string why_not;                       // not empty: nothing was fitted, and why
};

// Names of families that have constants to fit, or can say why not.
std::vector<std::string> calibrated_families();
// bad_input: fewer rows than constants, a row that cannot be predicted, an unknown family. said: a
// line about what goes on, for people who wait.
Result<CalibratedFamily> calibrate(const std::string& family, const CalibrationTables& tables,
                                   const std::function<void(const std::string&)>& said);

// The family as its file stands in model/device/families.
std::string family_text(const Family& family);

}  // namespace nb
